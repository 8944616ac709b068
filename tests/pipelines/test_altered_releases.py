"""The officer's table: each alteration of a release is found, or what hides it is said first.

Bare ``dxbeam verify RELEASE`` must find an alteration or say, before anything else, that what was
altered was not checked; and must not call such a release unchanged. With the digest of release.json
every alteration is found.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.release_vectors import release_vectors
from pipelines.verify import verify
from tests.support import tiny

Content = dict[str, Any]

RECORDS: list[dict[str, Any] | bytes] = [
    {"id": f"d{i}", "text": text, "label": f"l{i % 2}"} for i, text in enumerate(tiny.texts(12))
]

NOT_FITTING = ("do not fit", "'vocabulary' is not")
SELF = "not checked Whether release.json itself was edited"
FOLLOWS = "Whether the guarantee follows from the configuration"


def _set(part: str, **values: object) -> Callable[[Any, dict[str, Any]], None]:
    """Changes a part of the contents of release.json."""
    return lambda _, contents: contents[part].update(values)


class Made(NamedTuple):
    """Releases of one corpus, what each was made with, and the digest of its release.json."""

    folder: Path
    given: dict[str, list[str]]
    digests: dict[str, str]


@pytest.fixture(scope="module")
def made(uri: str, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("altered")
    corpus = tiny.write_jsonl(folder / "corpus.jsonl", [*RECORDS, b"not JSON"])
    (folder / "key").write_text(tiny.KEY.hex())
    (folder / "weights.tsv").write_text("w1\t10\nw2\t5\n")
    (folder / "stop").write_text("w1 w2")
    releases, ledger = folder / "releases", folder / "ledger"
    entered = [f"--key_uri={folder / 'key'}", f"--ledger={ledger}", "--corpus_id=notes"]
    kept = "--keep_fields=label"
    tiny.run(uri, corpus, releases / "lines", kept, *entered, "--rank_c=0.02", "--num_shards=2")
    weights, stop = f"--importance={folder / 'weights.tsv'}", f"--stop_words={folder / 'stop'}"
    parquet = "--output_format=parquet"
    tiny.run(uri, corpus, releases / "weights", kept, parquet, "--mechanism=santext", weights)
    tiny.run(uri, corpus, releases / "bags", "--bag_of_words=5", stop)
    places = [f"--input={corpus}", f"--output={releases / 'vectors'}", f"--vocabulary={uri}"]
    projection = ["--projection=gaussian", "--projected_dimensions=3", "--sensitivity=exact"]
    release_vectors([*places, *projection, "--epsilon=5"])
    words = f"--vocabulary={uri}"
    return Made(
        releases,
        {
            "lines": [words, f"--ledger={ledger}"],
            "weights": [words, weights],
            "bags": [words, stop],
            "vectors": [words],
        },
        {name: _digest(releases / name) for name in ("lines", "weights", "bags", "vectors")},
    )


def _digest(release: Path) -> str:
    return hashlib.sha256((release / "release.json").read_bytes()).hexdigest()


def _again(content: Content) -> None:
    """The digest of the configuration, computed anew."""
    words = content["vocabulary"]["digest"] if content["vocabulary"] else ""
    canonical = json.dumps(
        {"vocabulary": words, **content["configuration"]}, sort_keys=True, separators=(",", ":")
    )
    content["configuration_digest"] = hashlib.sha256(canonical.encode()).hexdigest()


def _recount(release: Path, content: Content, name: str) -> None:
    """A shard's record, and the sums, as they are after the shard was changed."""
    data = (release / name).read_bytes()
    record = {
        "name": name,
        "documents": data.count(b"\n"),
        "bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
    }
    others = [shard for shard in content["shards"] if shard["name"] != name]
    content["shards"] = sorted([*others, record], key=lambda shard: str(shard["name"]))
    content["documents_out"] = sum(shard["documents"] for shard in content["shards"])
    content["documents_in"] = content["documents_out"] + content["dead_letters"]


def _first(content: Content) -> str:
    return str(content["shards"][0]["name"])


def _listed_twice(_: Path, content: Content) -> None:
    shard = content["shards"][0]
    content["shards"].append(shard)
    content["documents_out"] += shard["documents"]
    content["documents_in"] += shard["documents"]


def _copied(release: Path, content: Content) -> None:
    shutil.copy(release / _first(content), release / "part-copy.jsonl")
    _recount(release, content, "part-copy.jsonl")


def _line_added(release: Path, content: Content, line: Content) -> None:
    with (release / _first(content)).open("a") as file:
        file.write(json.dumps(line) + "\n")
    _recount(release, content, _first(content))


def _added(**record: str) -> Callable[[Any, dict[str, Any]], None]:
    return lambda release, contents: _line_added(release, contents, record)


def _column_added(release: Path, content: Content) -> None:
    shard = content["shards"][0]
    path = release / shard["name"]
    table = pq.read_table(path)
    pq.write_table(table.append_column("raw", pa.array(["x"] * table.num_rows)), path)
    data = path.read_bytes()
    shard.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _documents_removed(release: Path, content: Content) -> None:
    """With nothing that would show it: an edit of the only witness."""
    lines = (release / _first(content)).read_bytes().splitlines(keepends=True)
    (release / _first(content)).write_bytes(b"".join(lines[1:]))
    _recount(release, content, _first(content))


def _swapped(_: Path, content: Content) -> None:
    one, other = content["shards"]
    one["name"], other["name"] = other["name"], one["name"]


def _promised(content: Content, **changes: Any) -> None:
    """Numbers of the guarantee, and the sentence that goes with them."""
    from dxbeam.guarantees import Guarantee

    said = {**content["guarantee"], **changes}
    content["guarantee"] = Guarantee.from_dict(said).as_dict()


def _configured(content: Content, change: Callable[[Content], object]) -> None:
    change(content["configuration"])
    _again(content)


def _worded(content: Content) -> None:
    content["versions"]["dxbeam"] = "0.0.1"
    content["guarantee"]["sentence"] = "Nobody can ever learn anything."


def _projection(release: Path, _: Content) -> None:
    np.save(release / "projection.npy", np.load(release / "projection.npy") * 2)


def _sensitivity(release: Path, _: Content) -> None:
    path = release / "sensitivity.json"
    path.write_text(path.read_text().replace('"exact"', '"spectral"'))


def _less_stretch(_: Path, content: Content) -> None:
    """In release.json only."""
    content["configuration"]["sensitivity"]["value"] /= 2
    _again(content)


def _less_stretch_everywhere(release: Path, content: Content) -> None:
    """And noise to go with it: what a run with a smaller sensitivity would have recorded."""
    settings = content["configuration"]
    _less_stretch(release, content)
    settings["noise"]["scale"] /= 2
    settings["noise"]["deviation_a_coordinate"] /= 2
    settings["grid"] = {name: value / 2 for name, value in settings["grid"].items()}
    _again(content)
    (release / "sensitivity.json").write_text(json.dumps(settings["sensitivity"]))


def _linked(release: Path, _: Content) -> None:
    (release / "raw").symlink_to(release.parent)


def _in_folder(release: Path, _: Content) -> None:
    (release / "sub").mkdir()
    (release / "sub" / "raw.jsonl").write_text("raw")


Alteration = Callable[[Path, Content], object]
ALTERATIONS: dict[str, tuple[str, Alteration, str, str]] = {
    # name: (release, what is altered, what bare verify says, what it says with all that is given)
    "fields unnamed": (
        "lines",
        lambda _, c: c.update(kept_fields=[]),
        "does not follow",
        "SHA-256",
    ),
    "fields unnamed, and not unprotected": (
        "lines",
        lambda _, c: c.update(kept_fields=[], unprotected=c["unprotected"][:-1]),
        "have a field 'label', which 'kept_fields' does not name",
        "SHA-256",
    ),
    "columns unnamed": (
        "weights",
        lambda _, c: c.update(kept_fields=[], unprotected=c["unprotected"][:-1]),
        "have a field 'label', which 'kept_fields' does not name",
        "have a field 'label'",
    ),
    "a column added": ("weights", _column_added, "have a field 'raw'", "have a field 'raw'"),
    "a field too many": (
        "lines",
        lambda _, c: (c["kept_fields"].append("more"), c["unprotected"].append("the field 'more'")),
        "Why 'kept_fields' names 'more'",
        "SHA-256",
    ),
    "kept fields not unprotected": (
        "lines",
        lambda _, c: c["unprotected"].pop(),
        "does not follow",
        "SHA-256",
    ),
    "notes beside": (
        "lines",
        lambda r, _: (r / "notes.txt").touch(),
        "notes.txt is not part",
        "is not part",
    ),
    "a hidden file": (
        "lines",
        lambda r, _: (r / ".hidden").touch(),
        ".hidden is not part",
        "is not part",
    ),
    "a folder": ("lines", _in_folder, "sub/ is not part", "is not part"),
    "an empty folder": ("lines", lambda r, _: (r / "empty").mkdir(), "empty/ is not", "is not"),
    "a link": ("lines", _linked, "raw/ is not part", "is not part"),
    "a shard too many": (
        "lines",
        lambda r, _: (r / "part-x.jsonl").touch(),
        "part-x.jsonl is not part",
        "is not",
    ),
    "a snapshot": (
        "lines",
        lambda _, c: c.update(input_snapshot="today"),
        "'input_snapshot' must be",
        "was changed since the ledger",
    ),
    "version 99": ("lines", lambda _, c: c.update(version=99), "does not know", "does not know"),
    "no version": ("lines", lambda _, c: c.pop("version"), "does not know", "does not know"),
    "an earlier version": ("lines", lambda _, c: c.update(version=1), SELF, "SHA-256"),
    "fewer tokens": ("lines", lambda _, c: c.update(tokens=7), "'tokens' is 7", "SHA-256"),
    "fewer tokens in Parquet": (
        "weights",
        lambda _, c: c.update(tokens=7),
        "'tokens' is 7, and the files hold",
        "damaged ('tokens' is 7",
    ),
    "words of the vocabulary": (
        "lines",
        lambda _, c: c["vocabulary"].update(words=7),
        "The vocabulary's size",
        "SHA-256",
    ),
    "words of the vocabulary in Parquet": (
        "weights",
        lambda _, c: c["vocabulary"].update(words=7),
        "The vocabulary's size",
        "'vocabulary' is not the vocabulary that is given",
    ),
    "the search": (
        "weights",
        lambda _, c: c["vocabulary"].update(search="approximate"),
        "vocabulary's size",
        "'vocabulary' is not the vocabulary that is given",
    ),
    "another vocabulary": ("lines", _set("vocabulary", digest="0" * 64), *NOT_FITTING),
    "another vocabulary, digested": (
        "weights",
        lambda _, c: (c["vocabulary"].update(digest="0" * 64), _again(c)),
        "The vocabulary's size",
        "'vocabulary' is not the vocabulary that is given",
    ),
    "the key kept": ("lines", lambda _, c: c["key"].update(kept=False), SELF, "'key' is not what"),
    "the key kept, in words": (
        "lines",
        lambda _, c: c["key"].update(kept="no"),
        "'key' must hold",
        "SHA-256",
    ),
    "the fingerprint": ("lines", _set("key", fingerprint="0" * 16), SELF, "'key' is not what"),
    "context": (
        "lines",
        lambda _, c: c["in_context"][0].update(exponent=0.1),
        "'in_context'",
        "SHA-256",
    ),
    "context of bags": (
        "bags",
        lambda _, c: c["in_context"][0].update(exponent=0.1),
        "'in_context': give",
        "'in_context' does not follow",
    ),
    "no context": (
        "bags",
        lambda _, c: c.update(in_context=[]),
        "The vocabulary's size",
        "'in_context' does not follow",
    ),
    "when": ("lines", lambda _, c: c.update(started="1999-01-01T00:00:00+00:00"), SELF, "SHA-256"),
    "when, in words": ("lines", lambda _, c: c.update(started="lately"), "be a time", "SHA-256"),
    "dead letters": (
        "lines",
        lambda _, c: c.update(dead_letters=0, documents_in=12),
        SELF,
        "SHA-256",
    ),
    "dead letters alone": (
        "lines",
        lambda _, c: c.update(dead_letters=0),
        "not the sum",
        "SHA-256",
    ),
    "documents": ("lines", lambda _, c: c.update(documents_out=99), "'documents_out' is", "is not"),
    "epsilon": (
        "lines",
        lambda _, c: c["guarantee"].update(epsilon=1.0),
        "sentence does not",
        "'epsilon'",
    ),
    "epsilon and sentence": (
        "lines",
        lambda _, c: _promised(c, epsilon=1.0),
        "does not follow",
        "'epsilon' is not what",
    ),
    "epsilon beside a file": (
        "weights",
        lambda _, c: _promised(c, epsilon=1.0),
        f"{FOLLOWS}: of a file of your own only a digest is recorded, so give --importance FILE",
        "guarantee does not follow",
    ),
    "caveats beside a file": (
        "weights",
        lambda _, c: _promised(c, caveats=[]),
        FOLLOWS,
        "guarantee does not follow",
    ),
    "delta beside stop words": (
        "bags",
        lambda _, c: _promised(c, delta=0.0, epsilon=0.1),
        f"{FOLLOWS}: of a file of your own only a digest is recorded, so give --stop_words FILE",
        "guarantee does not follow",
    ),
    "the list of stop words": (
        "bags",
        lambda _, c: _configured(c, lambda s: s["bag_of_words"].update(stop_words_sha256="0" * 64)),
        FOLLOWS,
        "'stop_words' of the configuration fit no other entry",
    ),
    "the digest of weights": (
        "weights",
        lambda _, c: _configured(c, lambda s: s["mechanism"]["importance"].update(sha256="0" * 64)),
        FOLLOWS,
        "'importance' of the configuration fit no other entry",
    ),
    "the largest weight": (
        "weights",
        lambda _, c: _configured(c, lambda s: s["mechanism"]["importance"].update(largest=1.0)),
        FOLLOWS,
        "'importance' of the configuration fit no other entry",
    ),
    "epsilon of vectors": (
        "vectors",
        lambda _, c: _promised(c, epsilon=1.0),
        "does not follow",
        "does not follow",
    ),
    "noise of vectors": (
        "vectors",
        lambda _, c: _configured(c, lambda s: s["noise"].update(scale=9.0)),
        FOLLOWS,
        FOLLOWS,
    ),
    "less stretch": ("vectors", _less_stretch, "not the sensitivity", "not the sensitivity"),
    "less stretch everywhere": (
        "vectors",
        _less_stretch_everywhere,
        "Whether no pair of words is stretched more",
        FOLLOWS,
    ),
    "sensitivity.json": ("vectors", _sensitivity, "not the sensitivity", "not the sensitivity"),
    "projection": ("vectors", _projection, "not the projection", "not the projection"),
    "words of vectors": ("vectors", lambda _, c: c.update(tokens=9), *["not recorded"] * 2),
    "one shard twice": ("lines", _listed_twice, "twice", "twice"),
    "one shard copied": ("lines", _copied, "a document is there twice", "is not what"),
    "a document repeated": (
        "lines",
        _added(id="d0", text="w1"),
        "is there twice",
        "is not what",
    ),
    "a raw field added": (
        "lines",
        _added(id="x", text="w1", raw="Jane"),
        "have a field 'raw'",
        "is not what",
    ),
    "a text that is none": ("lines", _added(id="x"), "no text", "is not what"),
    "a document removed": ("lines", _documents_removed, "'tokens' is", "is not what"),
    "records swapped": ("lines", _swapped, "not the file that was released", "not the file"),
    "a shard's digest": (
        "lines",
        lambda _, c: c["shards"][0].update(sha256="0" * 64),
        "not the file",
        "not the file",
    ),
    "a text changed": (
        "lines",
        lambda r, c: (r / _first(c)).write_bytes((r / _first(c)).read_bytes() + b" "),
        "not the file that was released",
        "not the file",
    ),
    "any sentence of another version": (
        "lines",
        lambda _, c: _worded(c),
        "Whether the sentence follows from the guarantee's numbers: dxbeam 0.0.1 wrote the release",
        "SHA-256",
    ),
    "any sentence": (
        "lines",
        lambda _, c: c["guarantee"].update(sentence="Safe."),
        "sentence does not follow",
        "SHA-256",
    ),
    "a number under another name": (
        "lines",
        lambda _, c: c["guarantee"].update(eps=c["guarantee"].pop("epsilon")),
        "lacks its epsilon",
        "'epsilon' is not what",
    ),
    "c of resampling": (
        "lines",
        lambda _, c: c["configuration"]["rank_resampling"].update(c=0.5),
        "do not fit",
        "SHA-256",
    ),
    "c of resampling, digested": (
        "lines",
        lambda _, c: _configured(c, lambda s: s["rank_resampling"].update(c=0.5)),
        SELF,
        "'configuration_digest' is not what the ledger",
    ),
    "the mechanism, digested": (
        "lines",
        lambda _, c: _configured(c, lambda s: s["mechanism"].update(epsilon=1.0)),
        "guarantee does not follow",
        "'configuration_digest' is not what the ledger",
    ),
    "the rule of noise, digested": (
        "lines",
        lambda _, c: _configured(c, lambda s: s.update(noise_rule="other")),
        FOLLOWS,
        "'configuration_digest' is not what the ledger",
    ),
    "the digest of the configuration": (
        "lines",
        lambda _, c: c.update(configuration_digest="0" * 64),
        "do not fit",
        "is not what",
    ),
    "a caveat removed": (
        "lines",
        lambda _, c: _promised(c, caveats=c["guarantee"]["caveats"][1:]),
        "does not follow",
        "SHA-256",
    ),
    "a caveat added": (
        "lines",
        lambda _, c: c["guarantee"]["caveats"].append("Safe."),
        "does not follow",
        "SHA-256",
    ),
    "punctuation not unprotected": (
        "lines",
        lambda _, c: c["unprotected"].remove("punctuation"),
        "does not follow",
        "SHA-256",
    ),
    "the digest of the corpus": (
        "lines",
        lambda _, c: c.update(corpus_digest="0" * 64),
        SELF,
        "'corpus_digest' is not what",
    ),
    "the run": ("lines", lambda _, c: c.update(run="0"), SELF, "does not have as released"),
    "an entry too many": (
        "lines",
        lambda _, c: c.update(certified=True),
        "Entries that this version does not know: 'certified'",
        "SHA-256",
    ),
    "the format of the files": (
        "lines",
        lambda _, c: c.update(output_format="parquet"),
        "not the format",
        "SHA-256",
    ),
    "a language model": (
        "lines",
        lambda _, c: c.update(post_processing={"grammar_repair": {"model": "m"}}),
        "a language model rewrote the texts",
        "SHA-256",
    ),
    "files left out": (
        "lines",
        lambda _, c: c.update(unreadable_files=[{"file": "x", "reason": "y"}]),
        SELF,
        "SHA-256",
    ),
    "versions": ("lines", lambda _, c: c["versions"].update(python="2.7"), SELF, "SHA-256"),
    "the file of weights": (
        "weights",
        lambda _, c: c["importance_file"].update(name="public.tsv"),
        SELF,
        SELF,
    ),
}


@pytest.fixture
def altered(made: Made, tmp_path: Path) -> Callable[[str], Path]:
    def copy(name: str) -> Path:
        kind, alteration, _, _ = ALTERATIONS[name]
        release = Path(shutil.copytree(made.folder / kind, tmp_path / "release"))
        path = release / "release.json"
        content = json.loads(path.read_text())
        alteration(release, content)
        path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
        return release

    return copy


def _told(release: Path, capsys: pytest.CaptureFixture[str], *flags: str) -> tuple[int, str]:
    code = verify([str(release), *flags])
    printed = capsys.readouterr()
    return code, " ".join(f"{printed.out}{printed.err}".split())


@pytest.mark.parametrize("name", ALTERATIONS)
def test_an_alteration_is_found_or_said_not_to_be_checked(
    name: str, made: Made, altered: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    kind, _, bare, by_all = ALTERATIONS[name]
    release = altered(name)
    code, told = _told(release, capsys)
    assert bare in told
    assert "unchanged" not in told
    if not code:
        assert told.startswith(SELF)
        assert told.index(bare) < told.index("the release is whole as far as it was checked")
    code, told = _told(release, capsys, *made.given[kind])
    assert by_all in told
    assert "unchanged" not in told
    code, told = _told(release, capsys, f"--digest={made.digests[kind]}")
    assert code == 1
    assert "unchanged" not in told


@pytest.mark.parametrize("kind", ["lines", "weights", "bags", "vectors"])
def test_what_was_not_altered_is_checked_wholly(
    kind: str, made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    release = made.folder / kind
    code, told = _told(release, capsys, *made.given[kind], f"--digest={made.digests[kind]}")
    assert code == 0
    assert f"{release}: the release is whole and unchanged promised" in told
    assert "not checked" not in told


def test_the_ledger_is_a_witness_like_the_digest(
    made: Made, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = _told(made.folder / "lines", capsys, *made.given["lines"])
    assert code == 0
    assert "whole and unchanged promised" in told
    assert "fields id, text (sanitized), label (kept)" in told
    assert "punctuation; the field 'label'" in told
