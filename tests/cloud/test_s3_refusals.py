"""What cannot be used on S3: a sentence that names the place, never a trace or a text."""

from __future__ import annotations

import gzip
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from dxbeam.errors import DxbeamError
from pipelines.sanitize import sanitize
from tests.cloud.s3_server import BUCKET, path

GOOD = b'{"id": "a", "text": "secret words"}\n'

OBJECTS = {
    "in/a.jsonl": GOOD,
    "table/a.csv": b"id,body\na,secret\n",
    "quoted/a.csv": b'id,text\na,"secret\n',
    "wide/a.csv": "id,text\na,secret\n".encode("utf-16"),
    "cut/a.jsonl.gz": gzip.compress(GOOD * 500)[:40],
    "no-key": b"secret text",
    "no-ledger": b"secret text\n",
    "full/x": b"1",
    "empty/a.jsonl": b"",
}
CASES: dict[str, tuple[dict[str, str], str]] = {
    "no such bucket to read": ({"input": "s3://nobodys/in/*"}, "s3://nobodys"),
    "no such bucket to write": ({"output": "s3://nobodys/out"}, "s3://nobodys"),
    "no bucket": ({"input": "s3://"}, "names no bucket"),
    "no name of a bucket": ({"output": "s3://A B/out"}, "names no bucket"),
    "no such objects": ({"input": path("nothing/*")}, "nothing/*"),
    "an empty object": ({"input": path("empty/*")}, "empty"),
    "no such vocabulary": ({"vocabulary": path("nowhere")}, "nowhere"),
    "a corpus for a vocabulary": ({"vocabulary": path("in")}, "in"),
    "no such key": ({"key_uri": path("nowhere")}, "nowhere"),
    "a text for a key": ({"key_uri": path("no-key")}, "no-key"),
    "a text for a ledger": ({"ledger": path("no-ledger"), "corpus_id": "c"}, "no-ledger"),
    "a full output": ({"output": path("full")}, "is not empty"),
    "metrics in the release": ({"metrics_output": path("out/m")}, "is within --output"),
    "a ledger in the release": (
        {"ledger": path("out/l"), "corpus_id": "c"}, "is within --output",
    ),
    "no such column": (
        {"input": path("table/*"), "input_format": "csv"}, "has no column 'text'",
    ),
    "an open quote": (
        {"input": path("quoted/*"), "input_format": "csv"}, "opens a quote that is never closed",
    ),
    "another encoding": (
        {"input": path("wide/*"), "input_format": "csv"}, "give --encoding utf-16",
    ),
    "another format": (
        {"input": path("table/*"), "input_format": "jsonl"}, "use --input_format csv",
    ),
    "a packed object that is cut off": (
        {"input": path("cut/*")}, "a.jsonl.gz: it cannot be read to its end",
    ),
    "the output's scheme": ({"output": "s4://bucket/out"}, "no file system here"),
}  # fmt: skip
ACCOUNTS: dict[str, tuple[dict[str, str | None], str]] = {
    "no credentials": (
        {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}, "no AWS credentials here",
    ),
    "half of the credentials": ({"AWS_SECRET_ACCESS_KEY": None}, "(PartialCredentialsError)"),
    "a wrong secret": ({"AWS_SECRET_ACCESS_KEY": "wrong"}, "in/"),
    "nobody's key": ({"AWS_ACCESS_KEY_ID": "AKIANOBODY"}, "in/"),
    "no server": ({"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "(EndpointConnectionError)"),
    "no URL": ({"AWS_ENDPOINT_URL": "nowhere"}, "cannot be reached (ValueError)"),
    "no such profile": ({"AWS_PROFILE": "nobody"}, "(ProfileNotFound)"),
}  # fmt: skip


@pytest.fixture
def refusal(
    uri: str, s3: Any, capfd: pytest.CaptureFixture[str]
) -> Callable[[dict[str, str], str], None]:
    for name, content in OBJECTS.items():
        s3.put_object(Bucket=BUCKET, Key=name, Body=content)

    def check(changes: dict[str, str], said: str) -> None:
        places = {"input": path("in/*"), "output": path("out"), "vocabulary": uri, "epsilon": "5"}
        with pytest.raises(DxbeamError) as refused:
            sanitize([f"--{name}={value}" for name, value in {**places, **changes}.items()])
        sentence = str(refused.value)
        assert said in sentence
        assert "\n" not in sentence
        everything = "".join(
            [sentence, *capfd.readouterr(), *traceback.format_exception_only(refused.value)]
        )
        assert "secret" not in everything
        assert "Traceback" not in everything

    return check


@pytest.mark.parametrize("case", CASES)
def test_places_that_cannot_be_used(
    refusal: Callable[[dict[str, str], str], None], case: str
) -> None:
    refusal(*CASES[case])


@pytest.mark.parametrize("case", ACCOUNTS)
def test_accounts_that_cannot_be_used(
    refusal: Callable[[dict[str, str], str], None], monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    changes, said = ACCOUNTS[case]
    for name, value in changes.items():
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)
    refusal({}, said)
