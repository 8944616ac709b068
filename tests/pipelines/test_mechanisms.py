"""Every mechanism from the command line: what is refused, and what the manifest says of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from dxbeam.documents import Document
from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import MECHANISMS, make_mechanism
from dxbeam.mechanisms.resampling import RankResampling
from dxbeam.release import manifest
from dxbeam.space import artifact
from dxbeam.text.configuration import Configuration
from dxbeam.text.sanitizer import Sanitized, Sanitizer
from tests.support import tiny

FLAGS = {"trlaplace_published": ("--epsilon=0.3", "--parameters=delta=0.4,clip=1")}
UNSOUND = {"santext_plus", "trlaplace_published", "truncated_gumbel"}
TEXTS = tiny.texts(12)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "in.jsonl"
    return tiny.write_jsonl(path, [{"id": f"d{i}", "text": text} for i, text in enumerate(TEXTS)])


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_the_job_releases_what_the_sanitizer_does(
    uri: str, corpus: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "key").write_text(tiny.KEY.hex())
    flags = [*FLAGS.get(name, ()), f"--mechanism={name}", "--rank_c=0.05"]
    if name in UNSOUND:
        flags.append("--allow_unsound")
    release = tiny.run(uri, corpus, tmp_path / "out", f"--key_uri={tmp_path / 'key'}", *flags)
    manifest.verify(str(tmp_path / "out"))
    parameters = dict(release["configuration"]["mechanism"])
    assert parameters.pop("name") == name
    mechanism = make_mechanism(name, **parameters)
    sanitizer = Sanitizer(
        artifact.open_vocabulary(artifact.handle(uri)),
        Configuration(mechanism, RankResampling(0.05), allow_unsound=True),
        tiny.KEY,
    )
    expected = {}
    for result in sanitizer.sanitize(Document(f"d{i}", text) for i, text in enumerate(TEXTS)):
        assert isinstance(result, Sanitized)
        expected[result.document.id] = result.document.text
    assert tiny.released(tmp_path / "out") == expected
    assert release["guarantee"]["sentence"] == mechanism.guarantee().sentence
    assert set(mechanism.guarantee().unprotected) <= set(release["unprotected"])
    assert bool(release["in_context"]) == mechanism.guarantee().sound


@pytest.mark.parametrize("name", sorted(UNSOUND))
def test_what_does_not_protect_every_word_is_refused(
    uri: str, corpus: Path, tmp_path: Path, name: str
) -> None:
    promise = make_mechanism(name, epsilon=0.3).guarantee()
    assert not promise.sound or promise.unprotected
    with pytest.raises(ConfigurationError, match="add --allow_unsound to run it all the same"):
        tiny.run(uri, corpus, tmp_path / "out", f"--mechanism={name}", *FLAGS.get(name, ()))
    assert not (tmp_path / "out").exists()
    others = [made for made in MECHANISMS if made not in UNSOUND]
    for other in others:
        stated = make_mechanism(other, epsilon=0.3).guarantee()
        assert stated.sound
        assert not stated.unprotected


def test_a_calibration_that_is_undefined_is_refused_before_work_starts(
    uri: str, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="undefined from epsilon"):
        tiny.run(
            uri, corpus, tmp_path / "out", "--mechanism=trlaplace_published", "--allow_unsound",
            "--epsilon=3",
        )  # fmt: skip
    assert not (tmp_path / "out").exists()


def test_a_parameter_that_a_mechanism_does_not_have_is_refused(
    uri: str, corpus: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match="santext has no parameter delta"):
        tiny.run(uri, corpus, tmp_path / "out", "--mechanism=santext", "--parameters=delta=0.1")
