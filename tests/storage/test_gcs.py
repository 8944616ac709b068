"""Without credentials for Cloud Storage there is a sentence, soon, and nothing waits."""

from __future__ import annotations

import io
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import google.auth
import pytest
from google.auth.exceptions import DefaultCredentialsError

from dxbeam import storage
from dxbeam.errors import ConfigurationError
from dxbeam.release import ledger
from dxbeam.storage import gcs, stores
from pipelines.sanitize import sanitize
from tests.support import tiny

NONE = "there are no Google credentials here, and {}; log in with gcloud"


def _http(code: int) -> Exception:
    return urllib.error.HTTPError("https://x", code, "", Message(), io.BytesIO())


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], list[str]]]:
    """No credentials; what a request for a listing gives is given, and requests are listed."""

    def refuse() -> None:
        raise DefaultCredentialsError

    def answering(answer: Any) -> list[str]:
        asked: list[str] = []

        def urlopen(url: str, timeout: float) -> Any:
            assert timeout <= 10
            asked.append(url)
            if isinstance(answer, Exception):
                raise answer
            return answer

        monkeypatch.setattr(urllib.request, "urlopen", urlopen)
        return asked

    monkeypatch.setattr(google.auth, "default", refuse)
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    gcs._let_in.clear()
    yield answering
    gcs._let_in.clear()


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (_http(401), "the bucket is not public"),
        (_http(403), "the bucket is not public"),
        (urllib.error.URLError("no route"), "Cloud Storage cannot be reached either"),
        (TimeoutError(), "Cloud Storage cannot be reached either"),
    ],
)
def test_without_credentials_a_bucket_is_refused(
    without: Callable[[Any], list[str]], answer: Exception, why: str
) -> None:
    without(answer)
    for access in (storage.read, storage.exists, storage.match, storage.delete, ledger.read):
        with pytest.raises(ConfigurationError, match=r"^gs://corpora: ") as refused:
            access("gs://corpora/notes/a")  # type: ignore[operator]
        assert NONE.split("{}")[0] in str(refused.value)
        assert why in str(refused.value)


@pytest.mark.parametrize("answer", [io.BytesIO(b"{}"), _http(404)], ids=["public", "missing"])
def test_a_public_bucket_needs_none_and_is_asked_once(
    without: Callable[[Any], list[str]], answer: Any
) -> None:
    asked = without(answer)
    for _ in range(2):
        stores.check_access("gs://corpora/notes/a")
    assert len(asked) == 1
    for path in ("/local", "corpora"):
        stores.check_access(path)
    assert len(asked) == 1


@pytest.mark.parametrize("flag", ["input", "output", "metrics_output", "vocabulary", "key_uri"])
def test_a_job_says_it_before_it_starts(
    uri: str, tmp_path: Path, without: Callable[[Any], list[str]], flag: str
) -> None:
    without(_http(401))
    corpus = tiny.write_jsonl(tmp_path / "c.jsonl", [{"text": "w1"}])
    places = {"input": str(corpus), "vocabulary": uri, "output": f"{tmp_path}/out"}
    places[flag] = "gs://corpora/notes/*"
    with pytest.raises(ConfigurationError, match="there are no Google credentials here"):
        sanitize([*(f"--{name}={place}" for name, place in places.items()), "--epsilon=5"])
    assert [path.name for path in tmp_path.iterdir()] == ["c.jsonl"]
