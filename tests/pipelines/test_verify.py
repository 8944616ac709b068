"""dxbeam verify: what is whole is said to be, and every kind of damage is found."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dxbeam.errors import ConfigurationError, DamagedReleaseError, OutputError
from dxbeam.release.verification.verify import verify_release
from pipelines.release_vectors import release_vectors
from pipelines.sanitize import sanitize
from pipelines.verify import verify
from tests.support import tiny

RECORDS: list[dict[str, Any] | bytes] = [
    {"id": f"d{i}", "text": text} for i, text in enumerate(tiny.texts(12))
]
RECORDS += [b"not JSON"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_jsonl(tmp_path_factory.mktemp("corpus") / "corpus.jsonl", RECORDS)


@pytest.fixture(scope="module")
def whole(uri: str, corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("releases") / "release"
    tiny.run(uri, corpus, output, "--num_shards=2", "--mechanism=gaussian")
    return output


@pytest.fixture
def release(whole: Path, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    return Path(shutil.copytree(whole, tmp_path / "release"))


def test_a_whole_release_is_reported(
    uri: str, release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = _digest(release)
    assert verify([str(release), f"--digest={digest}", f"--vocabulary={uri}"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    content = json.loads((release / "release.json").read_text())
    assert "the release is whole and unchanged" in told
    assert content["guarantee"]["sentence"] in told
    for caveat in content["guarantee"]["caveats"]:
        assert caveat in told
    assert "unprotected document ids; number and order of words; white space; punctuation" in told
    assert "documents 12 released of 13 read, 1 dead letter;" in told
    assert f"fingerprint {content['key']['fingerprint']}, drawn for it and forgotten" in told
    assert "files 2 files, " in told
    assert "not checked" not in told
    assert f"release.json SHA-256 {digest}" in told


def _digest(release: Path) -> str:
    return hashlib.sha256((release / "release.json").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "flags",
    [
        ["--compression=gzip", "--key_uri={key}"],
        ["--output_format=text", "--compression=zstd", "--mechanism=vickrey", "--rank_c=0.1"],
        ["--output_format=parquet", "--bag_of_words=5", "--unknown_words=drop"],
        ["--mechanism=truncated_gumbel", "--allow_unsound", "--unknown_words=mask"],
    ],
    ids=lambda flags: flags[0],
)
def test_every_kind_of_release_is_checked_wholly(
    flags: list[str], uri: str, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text(tiny.KEY.hex())
    output = tmp_path / "out"
    tiny.run(uri, corpus, output, *(flag.format(key=tmp_path / "key") for flag in flags))
    verified = verify_release(str(output), uri, digest=_digest(output))
    assert verified.unchecked == (
        ("Whether a text is there twice: plain text has no ids.",)
        if "--output_format=text" in flags and len(list(output.glob("part-*"))) > 1
        else ()
    )
    assert verified.manifest["documents_out"] == 12
    assert ("kept, so the release can be repeated" in verified.report) == ("{key}" in flags[-1])
    [shard] = [path for path in output.glob("part-*") if path.stat().st_size][:1]
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(DamagedReleaseError, match="is missing or not the file that was released"):
        verify_release(str(output))


def test_words_that_were_left_out_are_no_damage(uri: str, corpus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    tiny.run(uri, corpus, output, "--unknown_words=drop", "--allow_unsound")
    [unchecked] = verify_release(str(output), uri, digest=_digest(output)).unchecked
    assert "words outside the vocabulary were left out" in unchecked


def test_a_file_that_fits_is_no_damage_where_another_is_known_by_its_digest_only(
    uri: str, corpus: Path, tmp_path: Path
) -> None:
    output, weights, base = (tmp_path / name for name in ("out", "weights.tsv", "base.tsv"))
    weights.write_text("w1\t10\n")
    base.write_text("".join(f"w{i}\t{i + 1}\n" for i in range(300)))
    flags = ["--mechanism=santext", f"--importance={weights}", f"--base={base}"]
    tiny.run(uri, corpus, output, *flags)
    verified = verify_release(str(output), uri, str(weights), digest=_digest(output))
    [unchecked] = verified.unchecked
    assert "so give --importance FILE and --base FILE" in unchecked
    checked = verify_release(str(output), uri, str(weights), digest=_digest(output), base=str(base))
    assert checked.unchecked == ()
    base.write_text(base.read_text().replace("w7\t8", "w7\t9"))
    with pytest.raises(DamagedReleaseError, match="not the file that is given"):
        verify_release(str(output), importance=str(weights), base=str(base))


def test_released_vectors_and_their_projection_are_checked(
    uri: str, corpus: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    flags = [f"--vocabulary={uri}", f"--input={corpus}", f"--output={output}", "--epsilon=5"]
    release_vectors([*flags, "--projection=gaussian", "--projected_dimensions=3"])
    assert verify_release(str(output), uri, digest=_digest(output)).unchecked == ()
    projection = output / "projection.npy"
    content = bytearray(projection.read_bytes())
    content[-1] ^= 1
    projection.write_bytes(bytes(content))
    for _ in range(2):
        with pytest.raises(DamagedReleaseError, match="not the projection that was released"):
            verify_release(str(output))
        projection.unlink(missing_ok=True)


def _edited(release: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((release / "release.json").read_text())
    edit(content)
    (release / "release.json").write_text(json.dumps(content))


def _larger_promise(content: dict[str, Any]) -> None:
    """A sentence and a number that fit each other."""
    said = content["guarantee"]
    said.update(epsilon=1.0, sentence=said["sentence"].replace("exp(5 *", "exp(1 *"))


EDITS: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "documents of a file": ("which holds", lambda c: c["shards"][0].update(documents=99)),
    "bytes of a file": ("which holds", lambda c: c["shards"][0].update(bytes=1)),
    "no bytes of a file": ("whole numbers", lambda c: c["shards"][0].pop("bytes")),
    "documents out": ("'documents_out' is 99", lambda c: c.update(documents_out=99)),
    "documents in": ("'documents_in' is not the sum", lambda c: c.update(documents_in=12)),
    "dead letters": ("'dead_letters' must be a whole", lambda c: c.update(dead_letters=-1)),
    "no key": ("'key' must hold", lambda c: c.pop("key")),
    "no guarantee": ("'guarantee' is missing", lambda c: c.pop("guarantee")),
    "no sentence": ("'sentence' is missing", lambda c: c["guarantee"].pop("sentence")),
    "no caveats": ("'caveats' must be", lambda c: c["guarantee"].update(caveats=None)),
    "no delta": ("lacks its epsilon or its delta", lambda c: c["guarantee"].pop("delta")),
    "infinite": ("epsilon must be", lambda c: c["guarantee"].update(epsilon=float("inf"))),
    "nan": ("epsilon must be", lambda c: c["guarantee"].update(epsilon=float("nan"))),
    "text": ("epsilon must be", lambda c: c["guarantee"].update(epsilon="5")),
    "delta": ("delta must be", lambda c: c["guarantee"].update(delta=2)),
    "epsilon": ("sentence does not follow", lambda c: c["guarantee"].update(epsilon=1.0)),
    "sentence": ("sentence does not follow", lambda c: c["guarantee"].update(sentence="Safe.")),
    "a field too many": ("sentence does not follow", lambda c: c["guarantee"].update(safe=True)),
    "a field of no use": ("sentence does not follow", lambda c: c["guarantee"].pop("cap")),
    "a larger promise": ("does not follow from the configuration", _larger_promise),
    "caveats": (
        "does not follow from the configuration",
        lambda c: c["guarantee"].update(caveats=[]),
    ),
    "unprotected": (
        "does not follow from the configuration",
        lambda c: c.update(unprotected=["document ids"]),
    ),
    "configuration": (
        "do not fit 'configuration_digest'",
        lambda c: c["configuration"]["mechanism"].update(epsilon=1.0),
    ),
    "no configuration": ("'configuration' is missing", lambda c: c.pop("configuration")),
    "vocabulary": ("do not fit", lambda c: c["vocabulary"].update(digest="0" * 64)),
    "no shards": ("'shards' must list", lambda c: c.pop("shards")),
    "another format": ("does not describe a dxbeam release", lambda c: c.update(format="other")),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_manifest_that_contradicts_itself_or_the_files_is_damaged(
    name: str, release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said, edit = EDITS[name]
    _edited(release, edit)
    assert verify([str(release)]) == 1
    told = capsys.readouterr()
    assert said in told.err
    assert told.err.startswith("dxbeam: ")
    assert told.err.count("\n") == 1
    assert not told.out


def test_files_that_are_missing_changed_or_too_many_are_damage(release: Path) -> None:
    shard, *_ = release.glob("part-*")
    content = shard.read_bytes()
    extra = release / "part-0"
    for damage in (
        lambda: shard.write_bytes(content[:-1] + b" "),
        shard.unlink,
        lambda: (shard.write_bytes(content), extra.write_bytes(b"")),
        lambda: (extra.unlink(), (release / "release.json").write_text("{")),
    ):
        damage()
        assert verify([str(release)]) == 1


def test_another_version_may_have_worded_it_otherwise(release: Path) -> None:
    def edit(content: dict[str, Any]) -> None:
        content["versions"]["dxbeam"] = "0.0.9"
        content["guarantee"]["sentence"] = "In other words."

    _edited(release, edit)
    verified = verify_release(str(release))
    said = [one for one in verified.unchecked if "dxbeam 0.0.9 wrote the release" in one]
    assert len(said) == 2
    assert "Whoever sees one released word" in said[1], "what this version would promise"
    assert "In other words." in verified.report
    assert verified.report.index("not checked") == 0


def test_where_there_is_no_release_nothing_is_damaged(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(OutputError, match=r"there is no release\.json") as refusal:
            verify([str(place)])
        assert not isinstance(refusal.value, DamagedReleaseError)


def test_a_release_of_an_earlier_version_is_checked_as_far_as_that_goes(
    uri: str, release: Path
) -> None:
    """Version 1 did not list kept fields among what is unprotected."""
    _edited(release, lambda c: c.update(version=1))
    verified = verify_release(str(release), uri, digest=_digest(release))
    assert (verified.unchanged, verified.unchecked) == (True, ())


@pytest.mark.parametrize("argv", [[], ["a", "Evelyn"], ["a", "--Evelyn=b"]])
def test_mistakes_get_a_sentence(argv: list[str]) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        verify(argv)
    assert "Evelyn" not in str(refusal.value)
    assert "--help explains" in str(refusal.value)


def test_dry_run_release_and_verify_call_the_same_things_unprotected(
    uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [{"id": "a", "text": "w1 w2", "label": "x"}]
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", records)
    flags = ["--keep_fields=label", "--unknown_words=mask", "--allow_unsound"]
    given = [f"--vocabulary={uri}", f"--input={corpus}", f"--output={tmp_path / 'out'}"]
    sanitize([*given, "--epsilon=5", *flags, "--dry_run"])
    planned = capsys.readouterr().out
    release = tiny.run(uri, corpus, tmp_path / "out", *flags)
    ended = capsys.readouterr().out
    listed = "; ".join(release["unprotected"])
    assert "document ids" in listed
    assert listed.endswith("the field 'label'")
    [line] = [line for line in planned.splitlines() if line.startswith("  unprotected")]
    assert line.split(maxsplit=1)[1] == listed
    assert f"unprotected {listed} fields" in " ".join(
        verify_release(str(tmp_path / "out")).report.split()
    )
    noted = _digest(tmp_path / "out")
    assert noted in ended, "the digest to keep is printed"
    assert verify_release(str(tmp_path / "out"), digest=noted).unchanged
