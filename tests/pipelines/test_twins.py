"""Twins: corpora that differ in one word look alike in all that is public but what noise covers.

For each mode of the table below a corpus is released several times with another word in one place:
shorter, far longer, unknown to the vocabulary, in upper case, not ASCII, the word that makes its
text equal to another document's; where the number of words is not released, also two words and
none. Any two of these corpora are twins, so k of them are k (k - 1) / 2 pairs. Of each release this
is compared:

* ids and kept fields, the documents' order within files, the number of files and which documents
  share one, the shape of files' names, the schema of Parquet files, names of other files;
* every entry of release.json, all counts among them, but the run's name and time, and what is keyed
  or follows from what noise covers: corpus_digest, the shards' names, bytes and SHA-256, and the
  fingerprint of a key that is drawn anew;
* of a text its gaps and number of words where the mode releases those, else its number of words;
* for some modes also what a whole run prints, but for time and for the share of words that came out
  unchanged, which is computed from the raw text, says so, and is no part of a release; or the error
  it ends with.

What a mode releases besides is said in the table and nowhere else. Not compared is what is no part
of a release (metrics, dead letters), and texts that cannot be used (null bytes, half of a surrogate
pair, size): their documents are missing, as a caveat in release.json says.

Corpora are small, but "large" ones are cut into many splits over several workers, so that the
division of the work follows the lengths of the texts. A pipeline is built once a mode and run for
each twin. The last tests break the job in ways that it was once broken, or might be, and find that
twins tell.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.transforms import environments

from dxbeam.corpus import reading
from dxbeam.corpus.formats import CorpusFormat
from dxbeam.corpus.parsing import lines
from dxbeam.corpus.settings import ReadSettings
from dxbeam.corpus.splits import Split
from dxbeam.errors import DxbeamError
from dxbeam.language.artifact import write_language_model
from dxbeam.language.model import language_model_of
from dxbeam.release import manifest
from dxbeam.space.artifact.artifact import open_vocabulary
from dxbeam.space.vocabulary.words import UNKNOWN as UNKNOWN_ID
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text import tokenization
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.transforms import shards
from pipelines import release_vectors, sanitize
from tests.support import corpora, tiny

LONG = "naïveté" * 12
KNOWN = {
    "base": "house",
    "longer, not ASCII, in upper case": LONG.upper(),
    "equal": "twin",  # makes the text another document's
}
UNKNOWN = {"unknown and long": "日本語" * 60}
MORE = {"shorter": "ox", "unknown": "qwyjibo"}
THREE_CHARACTERS = {"Japanese": "日本語", "Thai": "ไม่ดี", "emoji": "👍🏽🇩🇪👩\u200d💻"}
OTHER_NUMBERS = {"two words": "house ox", "no word": ""}
"""What stands in the one place, by the name of the twin; MORE of them for one mode of a kind, and
THREE_CHARACTERS where the number of characters is visible."""

VECTORS: dict[str, Any] = {
    "base": [0.5, 1.0],
    "shorter": [0, 1],
    "longer": [0.123456789012345, -1.98765432109876],
    "equal": [3.0, 4.0],
    "large": [1e15, -1e15],
}

WORDS = [word.lower() for word in (*KNOWN.values(), *"ox the a ran over hill w1 w2 w3".split())]
VOCABULARY = Vocabulary(
    WORDS,
    np.random.default_rng(0).normal(0, 2, (len(WORDS), 4)).astype(np.float32),
    lowercase=True,
)

WORDS_VISIBLE = "the number and order of words, white space and punctuation"
UNKNOWN_VISIBLE = "which words are not in the vocabulary"
DIVISION_VISIBLE = "the texts' lengths, by which documents are divided into files"
ORDERED = frozenset({WORDS_VISIBLE, DIVISION_VISIBLE})
UNKNOWNS = ORDERED | {UNKNOWN_VISIBLE}
CUT_VISIBLE = "the number of characters of scripts without spaces"
NOTHING: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Mode:
    """A way to release a corpus, and what it lets see of texts besides what noise covers.

    Attributes:
      visible: of the sentences above.
      flags: of the launcher.
      files: how the corpus is written, see ``_write``.
      ids: "own", "made" by the job, or "repeated": the changed document has another one's.
      large: whether to cut the corpus into many splits for several workers.
      fresh: whether the key is drawn anew for each run.
      more: whether to try MORE words.
    """

    visible: frozenset[str]
    flags: str
    files: str = "jsonl"
    ids: str = "own"
    large: bool = False
    fresh: bool = False
    more: bool = False

    @property
    def twins(self) -> list[dict[str, Any]]:
        """Groups of words that must look alike in the one place."""
        if "--unit=vector" in self.flags:
            return [VECTORS]
        if UNKNOWN_VISIBLE in self.visible:
            return [KNOWN, {**UNKNOWN, "unknown": MORE["unknown"]}]
        if CUT_VISIBLE in self.visible:
            return [{**KNOWN, **MORE}, THREE_CHARACTERS]
        words = {**KNOWN, **UNKNOWN, **(MORE if self.more else {})}
        return [words if WORDS_VISIBLE in self.visible else {**words, **OTHER_NUMBERS}]

    @property
    def pairs(self) -> int:
        return sum(len(group) * (len(group) - 1) // 2 for group in self.twins)


BAG, TEXT, WORD, VECTOR = (
    "--bag_of_words=4 --stop_words=none",
    "--unit=text --projected_dimensions=2",
    "--unit=word --projected_dimensions=2 --sensitivity=spectral",
    "--unit=vector --dimensions=2 --projection=none",
)
MECHANISM = ("--mechanism", "--parameters")
FLUENT = "--mechanism=fluent --language_model={uri}-model"
KEPT = " --keep_fields=label,stars"

MODES = {
    "ordered": Mode(ORDERED, "--rank_c=0.1", ids="made", fresh=True, more=True),
    "ordered, packed": Mode(ORDERED, "--mechanism=vickrey", "gz", ids="made"),
    "ordered, several files": Mode(ORDERED, "--mechanism=mahalanobis" + KEPT, "files", "made"),
    "ordered, repeated ids": Mode(ORDERED, "--mechanism=santext", ids="repeated"),
    "ordered, Parquet": Mode(ORDERED, "--mechanism=tem" + KEPT, "parquet", "made"),
    "ordered, cut into characters": Mode(
        ORDERED | {CUT_VISIBLE}, "--segmenter=graphemes", ids="made"
    ),
    "ordered, CSV": Mode(ORDERED, "--mechanism=tem" + KEPT, "csv", "made"),
    "ordered, plain text": Mode(
        ORDERED, "--mechanism=gaussian --parameters=delta=1e-6", "text", "made"
    ),
    "ordered, packed plain text": Mode(
        ORDERED, "--mechanism=trlaplace --parameters=delta=1e-6,clip=5", "text.gz", "made"
    ),
    "ordered, a document a file": Mode(
        ORDERED,
        "--mechanism=coordinate_laplace --parameters=clip=5 --document_per=file",
        "folder",
        "made",
    ),
    "ordered, unsound, several shards": Mode(
        ORDERED, "--mechanism=truncated_gumbel --allow_unsound --num_shards=2 --compression=gzip"
    ),
    "ordered, large": Mode(ORDERED, "", ids="made", large=True),
    "ordered, mask": Mode(UNKNOWNS, "--unknown_words=mask --allow_unsound", ids="made"),
    "ordered, drop": Mode(UNKNOWNS, "--unknown_words=drop --allow_unsound", ids="repeated"),
    "ordered, keep": Mode(UNKNOWNS, "--unknown_words=keep --allow_unsound", "parquet"),
    "ordered, with a base measure": Mode(
        ORDERED, "--mechanism=santext --base=frequency --base_exponent=0.5", "files", "made"
    ),
    "ordered, fluent": Mode(ORDERED, FLUENT + " --rank_c=0.1", ids="made", more=True),
    "ordered, fluent, large": Mode(ORDERED, FLUENT, ids="repeated", large=True),
    "ordered, fluent, mask": Mode(UNKNOWNS, FLUENT + " --unknown_words=mask --allow_unsound"),
    "bags": Mode(NOTHING, BAG + " --rank_c=0.1" + KEPT, "files", "made", more=True),
    "bags, cut into words": Mode(NOTHING, BAG + " --segmenter=longest_match"),
    "bags, CSV, large": Mode(NOTHING, BAG + KEPT, "csv", "made", large=True),
    "bags, repeated ids": Mode(NOTHING, BAG, "gz", "repeated", fresh=True),
    "bags, large": Mode(NOTHING, BAG, ids="made", large=True),
    "bags, large and packed, several shards": Mode(
        NOTHING, BAG + " --num_shards=3", "gz", "made", large=True
    ),
    "texts' vectors": Mode(NOTHING, TEXT + KEPT, "files", "made", more=True),
    "texts' vectors, large, several shards": Mode(
        NOTHING, TEXT + " --num_shards=3", "parquet", "made", large=True
    ),
    "words' vectors": Mode(NOTHING, WORD, "text", "made"),
    "words' vectors, repeated ids": Mode(NOTHING, WORD, ids="repeated", fresh=True),
    "given vectors": Mode(NOTHING, VECTOR + KEPT, ids="made"),
    "given vectors, repeated ids": Mode(NOTHING, VECTOR, "gz", "repeated"),
    "given vectors, large": Mode(NOTHING, VECTOR, ids="made", large=True),
}

CROSSED = {
    "ordered, packed",
    "ordered, several files",
    "ordered, repeated ids",
    "ordered, Parquet",
    "ordered, large",
    "ordered, fluent, mask",
    "bags, large",
    "bags, large and packed, several shards",
    "words' vectors",
    "given vectors",
    "given vectors, repeated ids",
}
"""Modes of which others have each part but the mechanism; they are tried before a release."""


def _records(mode: Mode, word: Any) -> list[dict[str, Any]]:
    """The corpus with this word, or vector, in the one place."""
    if "--unit=vector" in mode.flags:
        values = [[float(i), 1.0] for i in range(6)]
        values[2], values[4] = word, VECTORS["equal"]
        field = "vector"
    elif "--unit=word" in mode.flags:
        values = ["the", "hill", word, "over", KNOWN["equal"], "a"]
        field = "text"
    else:
        values = ["", "the hill!", f"the {word}, ran", "w1", f"the {KNOWN['equal']}, ran", "a w2"]
        field = "text"
    if mode.large:
        values += [values[i % 2] for i in range(22)]
    records = [
        {"id": f"d{i}", field: value, "label": "ab"[i % 2], "stars": i}
        for i, value in enumerate(values)
    ]
    if mode.ids == "repeated":
        records[2]["id"] = records[4]["id"]
    if mode.ids == "made":
        for record in records:
            del record["id"]
    return records


def _write(folder: Path, mode: Mode, word: Any) -> None:
    """Writes a corpus as the only files of a folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    records = _records(mode, word)
    if mode.files == "parquet":
        table = pa.Table.from_pylist(records)
        pq.write_table(table, folder / "a", row_group_size=4)
    elif mode.files == "csv":
        with (folder / "a").open("w", encoding="utf-8", newline="") as file:
            table = csv.DictWriter(file, ["text", "label", "stars"])
            table.writeheader()
            table.writerows(records)
    elif mode.files == "folder":
        for number, record in enumerate(records):
            (folder / str(number)).write_text(record["text"])
    elif mode.files == "files":
        for file in range(3):
            tiny.write_jsonl(folder / str(file), records[file::3])
    elif mode.files.startswith("text"):
        content = "".join(f"{record['text']}\n" for record in records).encode()
        packed = mode.files == "text.gz"
        (folder / ("a.gz" if packed else "a")).write_bytes(
            gzip.compress(content) if packed else content
        )
    else:
        plain = tiny.write_jsonl(folder / "a", records)
        if mode.files == "gz":
            (folder / "a.gz").write_bytes(gzip.compress(plain.read_bytes()))
            plain.unlink()


_TIME = r"[\d,]+ (?=tokens per second)|(?<=, in )\d+ (?=seconds)"
_DIGEST = r"Keep this SHA-256 .+"  # of release.json, which names the run
_SHARE = (
    r"Of .+ came out unchanged(?=: computed from the raw text and not covered)"
    r"|Warning: [\d.]+ % of .+\n"
)


class Job:
    """The job of a mode: built once, as the launcher does, and run for each twin.

    Args:
      folder: for corpora and releases.
      mode: what to run.
      uri: of the vocabulary.
    """

    def __init__(self, folder: Path, mode: Mode, uri: str):
        self._mode = mode
        self._input, self._output = folder / "in", folder / "out"
        (folder / "key").write_text(tiny.KEY.hex())
        (folder / "key").chmod(0o600)
        kind = {
            "parquet": "parquet",
            "csv": "csv",
            "text": "text",
            "text.gz": "text",
            "folder": "text",
        }
        self.arguments = [
            f"--input={self._input}/*",
            f"--output={self._output}",
            f"--input_format={kind.get(mode.files, 'jsonl')}",
            "--epsilon=5",
            *mode.flags.format(uri=uri).split(),
            *([] if mode.fresh else [f"--key_uri={folder}/key"]),
            *([] if "--unit=vector" in mode.flags else [f"--vocabulary={uri}"]),
        ]
        self._proto: Any = None

    @property
    def _launcher(self) -> Any:
        return release_vectors if "--unit" in self._mode.flags else sanitize

    def release(self, word: Any) -> Any:
        """Runs the pipeline on the corpus with this word; all that is public of its release."""
        self._prepare(word)
        options = PipelineOptions(["--runner=FnApiRunner", *self.arguments])
        if self._proto is None:  # building takes longer than running
            environment = environments.EmbeddedPythonEnvironment.default()
            self._proto = self._built(options).to_runner_api(default_environment=environment)
        runner = FnApiRunner()
        runner._num_workers = 2 if self._mode.large else 1
        runner.run_via_runner_api(self._proto, options).wait_until_finish()
        return _public(self._output, self._mode)

    def launch(self, word: Any, capsys: pytest.CaptureFixture[str]) -> Any:
        """The same by a whole run of the launcher, with what it prints."""
        self._prepare(word)
        launcher = (
            sanitize.sanitize if self._launcher is sanitize else release_vectors.release_vectors
        )
        try:
            launcher(self.arguments)
        except DxbeamError as error:
            return type(error), str(error)
        said = re.sub(f"{_TIME}|{_SHARE}|{_DIGEST}", "", capsys.readouterr().out)
        return said, _public(self._output, self._mode)

    def _prepare(self, word: Any) -> None:
        _write(self._input, self._mode, word)
        shutil.rmtree(self._output, ignore_errors=True)
        shutil.rmtree(f"{self._output}-metrics", ignore_errors=True)

    def _built(self, options: PipelineOptions) -> Any:
        return self._launcher.build(self._launcher.read_options(options))


def _public(output: Path, mode: Mode) -> Any:
    """All that a reader of a release sees of it, but what noise covers and the mode releases."""
    release = manifest.verify(str(output))
    described = release.pop("shards")
    for name in ("corpus_digest", "run", "started"):
        release.pop(name, None)
    if mode.fresh:
        del release["key"]["fingerprint"]
    names = [shard["name"] for shard in described]
    others = {path.name for path in output.iterdir()} - set(names)
    files = [_records_of(output / name, mode) for name in names]
    assert [len(file) for file in files] == [shard["documents"] for shard in described]
    if DIVISION_VISIBLE in mode.visible:
        layout: Any = sorted(itertools.chain(*files))
    elif mode.fresh:
        layout = (len(files), sorted(itertools.chain(*files)))
    else:
        layout = sorted(files)
    shapes = {re.sub("[0-9a-f]{16}", "", name) for name in names}
    return release, sorted(others), shapes, layout


def _records_of(path: Path, mode: Mode) -> list[str]:
    """What is public of each record of a file, in order."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        rows: list[Any] = [{**row, "schema": str(table.schema)} for row in table.to_pylist()]
    elif path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    else:
        content = path.read_bytes()
        lines = (gzip.decompress(content) if path.suffix == ".gz" else content).decode().split("\n")
        assert lines.pop() == ""
        rows = [json.loads(line) if ".jsonl" in path.name else {"text": line} for line in lines]
    for row in rows:
        if "vector" in row:
            row["vector"] = len(row["vector"])
        elif WORDS_VISIBLE in mode.visible:
            row["text"] = tokenization.split(row["text"])[0]
        else:
            row["text"] = len(tokenization.words(row["text"]))
    return [json.dumps(row) for row in rows]


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    uri = tiny.write_artifact(tmp_path_factory.mktemp("vocabulary"), VOCABULARY, 5)
    sentences = np.random.default_rng(1).integers(-1, len(WORDS), (40, 6))
    write_language_model(f"{uri}-model", language_model_of(sentences, open_vocabulary(uri)), None)
    return uri


def _cut_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large corpora have more splits than workers, and are released as several files."""
    corpora.divide(monkeypatch, 150)
    number_of_files = shards._number_of_files
    monkeypatch.setattr(
        shards, "_number_of_files", lambda rows, asked, _: number_of_files(rows, asked, 16)
    )


def test_the_table_holds_enough_pairs() -> None:
    assert sum(mode.pairs for mode in MODES.values()) >= 200


def _parts(mode: Mode) -> set[str]:
    """All but the mechanism."""
    flags = {flag for flag in mode.flags.split() if not flag.startswith(MECHANISM)}
    return {*flags, *mode.visible, mode.files, mode.ids, *(["large"] if mode.large else [])}


def test_what_is_crossed_is_tried_in_other_modes() -> None:
    crossed = set[str]().union(*(_parts(MODES[name]) for name in CROSSED))
    assert crossed <= set[str]().union(*(_parts(MODES[name]) for name in MODES.keys() - CROSSED))


@pytest.mark.parametrize(
    "mode",
    [pytest.param(mode, marks=[pytest.mark.exhaustive] * (mode in CROSSED)) for mode in MODES],
)
def test_twins_look_alike(
    mode: str, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if MODES[mode].large:
        _cut_small(monkeypatch)
    job = Job(tmp_path, MODES[mode], uri)
    for group in MODES[mode].twins:
        first, *others = group
        expected = job.release(group[first])
        for name in others:
            assert job.release(group[name]) == expected, f"{first!r} and {name!r} can be told apart"


@pytest.mark.parametrize("mode", ["ordered, repeated ids", "bags", "words' vectors, repeated ids"])
def test_whole_runs_of_twins_say_the_same(
    mode: str, uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Job(tmp_path, MODES[mode], uri)
    [group] = MODES[mode].twins
    expected = job.launch(group["base"], capsys)
    assert "Released" in expected[0]
    assert job.launch(group["equal"], capsys) == expected


def test_twins_of_which_nothing_can_be_released_fail_alike(uri: str, tmp_path: Path) -> None:
    said = []
    for word in ("house", LONG, KNOWN["equal"]):
        texts = [f"the {word}", f"the {KNOWN['equal']}"]
        path = tiny.write_jsonl(tmp_path / "in", [{"id": "a", "text": text} for text in texts])
        with pytest.raises(DxbeamError, match="2 records were rejected") as failure:
            tiny.run(uri, path, tmp_path / "out")
        said.append(re.sub("[0-9a-f]{32}", "RUN", str(failure.value)))  # which each run draws
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        shutil.rmtree(tmp_path / "out-metrics")
    assert len(set(said)) == 1


def _ids_by_offset(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents are named by the byte at which they start."""
    numbered_lines = lines.numbered_lines

    def at_offset(split: Split, read_as: ReadSettings) -> Iterator[tuple[int, bytes | None]]:
        offset = 0
        for _, line in numbered_lines(split, read_as):
            yield offset, line
            offset += len(line or b"") + 1

    monkeypatch.setattr(lines, "numbered_lines", at_offset)


def _repeated_ids_by_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated id passes where the texts are equal."""

    def ids(split: Split, read_as: CorpusFormat) -> Iterator[str]:
        yield from (name for name, *_ in {*reading.read(split, read_as)})

    monkeypatch.setattr(reading, "ids", ids)


def _a_file_a_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bags are written as ordered text is."""
    write = sanitize.WriteShards
    monkeypatch.setattr(sanitize, "WriteShards", lambda *given: write(*given[:-1]))


def _no_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents lie in a file as they arrive there."""
    monkeypatch.setattr(shards, "_sorted", lambda file, rows: (file, [e for o, e in rows if o]))


def _tokens_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bag's tally holds how many words its document has."""
    monkeypatch.setattr(BagOfWords, "draw", _all_words)


def _all_words(bag: BagOfWords, key: bytes, ids: Iterable[int]) -> tuple[Any, int]:
    found = np.array(list(ids) or [UNKNOWN_ID], np.int64)
    return found, len(found)


BROKEN: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], str, str]] = {
    "ids by byte offset": (_ids_by_offset, "ordered", "longer, not ASCII, in upper case"),
    "repeated ids by text": (_repeated_ids_by_text, "ordered, repeated ids", "equal"),
    "a file a bundle": (_a_file_a_bundle, "bags, large", "unknown and long"),
    "no order in files": (_no_order, "bags, large", "unknown and long"),
    "all words released": (_tokens_are_counted, "bags", "two words"),
}
"""How the job is broken, and a mode and a twin that tell. Beam spreads work by chance too, so what
follows the division of the work differs from run to run."""


@pytest.mark.parametrize("broken", BROKEN)
def test_twins_tell_when_the_job_is_broken(
    broken: str, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_it, name, twin = BROKEN[broken]
    mode = MODES[name]
    if mode.large:
        _cut_small(monkeypatch)
    break_it(monkeypatch)
    job = Job(tmp_path, mode, uri)
    [group] = mode.twins
    assert job.release(group["base"]) != job.release(group[twin])
