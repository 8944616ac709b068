"""Mistakes of every kind, in every launcher: one sentence, exit code 2, nothing written.

The list is meant to be lengthened: a mistake that shows a trace belongs here.
"""

from __future__ import annotations

import io
import logging
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dxbeam import stopping
from dxbeam.commands import launch
from dxbeam.documents import Document
from dxbeam.errors import DxbeamError
from dxbeam.mechanisms import make_mechanism
from dxbeam.mechanisms.laplace import Laplace
from dxbeam.mechanisms.sampling.resampling import RankResampling
from dxbeam.release.verification.verify import verify_release
from dxbeam.space.artifact import artifact
from dxbeam.space.vocabulary.words import Vocabulary
from dxbeam.text.bag_of_words import BagOfWords
from dxbeam.text.configuration import Configuration
from dxbeam.text.public.importance_file import read_importance
from dxbeam.text.sanitizer import Sanitizer
from dxbeam.transforms import yaml as declarative
from dxbeam.transforms.sanitize import SanitizeDocuments
from pipelines.audit import audit
from pipelines.build_vocabulary import build_vocabulary
from pipelines.release_vectors import release_vectors
from pipelines.sanitize import sanitize
from tests.support import tiny
from tests.support.refusals import rows

SECRETS = ("Evelyn", "Montserrat")
CORPUS = [{"id": "a", "text": "Evelyn w1"}, {"id": "b", "text": "w3 Montserrat"}]
WORDS = "w1 1 2\nw2 3 4\nw3 5 6\n"
REPAIR = ["--repair_model=m", "--repair_endpoint=http://localhost:9/v1"]


class Mistake(NamedTuple):
    """What somebody gives a launcher: flags, files that lie next to the corpus, what is said."""

    name: str
    said: str
    flags: Sequence[str]
    files: dict[str, bytes] | None = None


def _mistakes(table: str) -> list[Mistake]:
    """Of a name, what is said and flags, as in a shell."""
    return [Mistake(name, said, shlex.split(flags)) for name, said, flags in rows(table)]


def _config(text: str) -> dict[str, bytes]:
    return {"job.yaml": text.encode()}


def _parquet(**columns: list[object]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


FLAGS = _mistakes(
    """
    a glob without quotes  argument 3 of  --key_uri {tmp}/a {tmp}/b
    a switch with a word  argument 2 of  --allow_unsound yes
    a value left out  --epsilon needs a value  --epsilon
    a flag eaten  --key_uri needs a value  --key_uri --rank_c=1
    an abbreviation  did you mean --epsilon?  --epsilo=5
    one dash  unknown flag -epsilon  -epsilon=5
    another command's flag  it is one of other commands  --original=a
    CSV  it is not a table of delimited text  --input_format=csv
    twice  given twice  --epsilon=5 --epsilon=7
    a German comma  not a number  --epsilon=7,5
    out of float64  must be a positive, finite number  --epsilon=1e400
    a negative c  must be a positive  --rank_c -1
    half a word  not a whole number  --bag_of_words=1.5
    no word  not a whole number  --bag_of_words=0
    a bag beyond memory  bag_of_words must be  --bag_of_words=2147483647
    thousands  not a whole number  --num_shards=1e3
    no thread  not a whole number  --search_threads=0
    no byte  not a whole number  --largest_document=0
    another runner  there is no such runner  --runner=FlinkRuner
    a runner without its project  cannot run with  --runner=DataflowRunner
    another mode  invalid choice  --direct_running_mode=fast
    fewer than no workers  must be 0  --direct_num_workers=-2
    a maybe  is a switch  --dry_run=maybe
    no mechanism  no such mechanism  --mechanism=
    capitals  did you mean laplace?  --mechanism=Laplace
    another's parameter  has no parameter  --parameters=delta=1e-6
    a parameter twice  each name once  --mechanism=tem --parameters=beta=1,beta=1
    half a parameter  write it as  --mechanism=tem --parameters=beta
    NaN as a parameter  beta  --mechanism=tem --parameters=beta=nan
    epsilon twice over  a separate flag  --parameters=epsilon=5
    no delta  delta must be  --mechanism=gaussian --parameters=delta=2
    policy in capitals  unknown_words is one of  --unknown_words=NOISE
    format in capitals  --input_format is one of  --input_format=JSONL
    half a document  --document_per is one of  --document_per=page
    quoting  quotes elements  --performance_runtime_type_check
    """
)
FILES = [
    *_mistakes(
        """
    no input  --input is needed  --input=
    a folder as input  this is a folder  --input={tmp}
    a list as input  one glob, not a list  --input={tmp}/a,{tmp}/b
    a home that nobody expanded  ~ is not expanded  --input=~/none.jsonl
    another scheme in  no file system  --input=s4://bucket/*
    another scheme out  no file system  --output=s4://bucket/x
    nothing to write to  --output is needed  --output=
    output below a file  no directory  --output={tmp}/corpus.jsonl/out
    output is a file  no directory  --output={tmp}/corpus.jsonl
    output around the corpus  takes in what the job  --output={tmp}
    metrics below a file  no directory  --metrics_output={tmp}/corpus.jsonl/m
    JSON as Parquet  not a Parquet file  --input_format=parquet
    no stop words  cannot be read  --bag_of_words=5 --stop_words={tmp}/none
    a folder of stop words  cannot be read  --bag_of_words=5 --stop_words={tmp}
    a folder as a key  cannot be read  --key_uri={tmp}
    the corpus as a key  key  --key_uri={tmp}/corpus.jsonl
    a key in another scheme  --key_uri  --key_uri=s4://bucket/key
    a model without a place  --repair_endpoint is needed  --repair_model=m
    an invalid endpoint  http  --repair_model=m --repair_endpoint=localhost
    no vocabulary  --vocabulary is needed  --vocabulary=
    a file as vocabulary  no vocabulary  --vocabulary={tmp}/corpus.jsonl
    a corpus's folder as vocabulary  no vocabulary  --vocabulary={tmp}
    """
    ),
    Mistake("a prompt that is missing", "cannot be read", [*REPAIR, "--repair_prompt={tmp}/p"]),
    Mistake("a key that is not set", "not set", [*REPAIR, "--repair_api_key_env=DXBEAM_NONE"]),
    Mistake("an invalid policy", "repair_failures", [*REPAIR, "--repair_failures=ignore"]),
    Mistake(
        "UTF-16 as text",
        "give --encoding utf-16, or convert it: iconv",
        ["--input={tmp}/u.txt", "--input_format=text"],
        {"u.txt": "Evelyn".encode("utf-16")},
    ),
    Mistake("output is in use", "is not empty", ["--output={tmp}/used"], {"used/x": b""}),
    Mistake(
        "numbers as text",
        "not strings",
        ["--input={tmp}/c.parquet", "--input_format=parquet"],
        {"c.parquet": _parquet(id=["a"], text=[7])},
    ),
    Mistake(
        "stop words in Latin-1",
        "UTF-8",
        ["--bag_of_words=5", "--stop_words={tmp}/stop"],
        {"stop": b"Evelyn\n\xe9t\xe9\n"},
    ),
    *(
        Mistake(
            f"a manifest that is {what}",
            "manifest",
            ["--vocabulary={tmp}/v"],
            {"v/manifest.json": text},
        )
        for what, text in {
            "cut off": b'{"format": ',
            "a list": b"[]",
            "of another kind": b'{"format": "dxbeam-release", "version": 1}',
            "empty": b"",
            "half": b'{"format": "dxbeam-vocabulary", "version": 1}',
            "no text": b"\xff\xfe",
        }.items()
    ),
]
LEDGERS = _mistakes(
    """
    a ledger of no corpus  --corpus_id is needed  --ledger={tmp}/l
    a cap without a ledger  --ledger is needed  --max_epsilon=30
    a corpus's name alone  --ledger is needed  --corpus_id=c
    an invalid cap  not a number  --ledger={tmp}/ledger.jsonl --corpus_id=c --max_epsilon=nan
    a cap passed at once  pass --max_epsilon 4  --ledger={tmp}/l --corpus_id=c --max_epsilon=4
    an empty name of a ledger  --ledger is needed  --ledger=
    a folder as ledger  ledger  --ledger={tmp} --corpus_id=c
    the corpus as ledger  --input  --ledger={tmp}/corpus.jsonl --corpus_id=c
    words as ledger  not a ledger  --ledger={tmp}/words.txt --corpus_id=c
    a ledger below a file  ledger  --ledger={tmp}/corpus.jsonl/l --corpus_id=c
    """
)
CONFIGS = [
    Mistake(f"a file of flags with {what}", said, ["--config={tmp}/job.yaml"], _config(text))
    for what, said, text in [
        (
            "a key twice",
            "line 3: rank_c is in line 1",
            "rank_c: 1\nunknown_words: noise\nrank_c: 2",
        ),
        ("a time", "'1:30' is not a number", "rank_c: 1:30"),
        ("no for a number", "'no' is not a number", "rank_c: no"),
        ("a switch in words", "is a switch", 'allow_unsound: "yes"'),
        ("true for a value", "takes a value", "group_by: true"),
        ("a mapping", "single value", "rank_c: {a: 1}"),
        ("another file", "no further file", "config: other.yaml"),
        ("a misspelling", "did you mean --rank_c", "rankc: 1"),
        ("nothing", "must be a mapping", ""),
        ("a list", "must be a mapping", "- rank_c"),
        ("half of YAML", "not valid YAML", "rank_c: ["),
        ("a null byte", "null byte", 'keep_fields: "a\\0b"'),
        ("a corpus in it", "unknown flag", '{"Evelyn": "Montserrat"}'),
    ]
] + [Mistake("a folder of flags", "cannot be read", ["--config={tmp}"])]

VECTORS = [
    *_mistakes(
        """
    an invalid unit  --unit page  --unit=page
    an invalid projection  --projection tsne  --projection=tsne
    an invalid bound  --sensitivity  --sensitivity=guess
    more dimensions than there are  dimensions  --projected_dimensions=9
    no dimension  not a whole number  --projected_dimensions=0
    another vocabulary's dimensions  the vocabulary has 8  --dimensions=7
    a delta of one  delta  --sensitivity=published --projection=gaussian --projection_delta=1
    vectors of no length  --dimensions is needed  --unit=vector --vocabulary=
    vectors in text  no vectors  --unit=vector --input_format=text
    words of no vocabulary  --vocabulary is needed  --unit=word --vocabulary=
    a mechanism for vectors  unknown flag --mechanism  --mechanism=tem
    a far epsilon  epsilon  --epsilon=1e9
    letters below a file  no directory  --metrics_output={tmp}/corpus.jsonl/m
    a key that is short  key  --key_uri={tmp}/words.txt
    """
    ),
    Mistake("vectors in use", "is not empty", ["--output={tmp}/used"], {"used/x": b""}),
]
VOCABULARIES = [
    *_mistakes(
        """
    no file of vectors  --embeddings is needed  --embeddings=
    vectors that are missing  none.txt  --embeddings={tmp}/none.txt
    a folder of vectors  directory  --embeddings={tmp}
    another format  embedding format  --embeddings_format=word2vec-text
    no words  not a whole number  --max_words=0
    no neighbours  not 0 or a whole number  --neighbors=-3
    double precision  invalid choice  --vector_dtype=float64
    no such index  FAISS knows no  --index_factory=Tree7
    no such parameter  no such parameters  --index_factory=IVF4,Flat --index_parameters=depth=3
    a vocabulary in use  is not empty  --output={tmp}
    a vocabulary below a file  no directory  --output={tmp}/words.txt/v
    a switch in German  is a switch  --lowercase=ja
    """
    ),
    Mistake("no vectors at all", "empty", ["--embeddings={tmp}/e"], {"e": b""}),
    Mistake("a corpus of vectors", "", ["--embeddings={tmp}/corpus.jsonl"]),
    Mistake("no gzip", "", ["--embeddings={tmp}/w.gz"], {"w.gz": WORDS.encode()}),
    Mistake("no zip", "", ["--embeddings={tmp}/w.zip"], {"w.zip": WORDS.encode()}),
    Mistake("decimal commas", "with a point", ["--embeddings={tmp}/w"], {"w": b"a 1,5 2,5\n"}),
    Mistake("semicolons", "tr ';' ' '", ["--embeddings={tmp}/w"], {"w": b"a;1;2\nb;3;4\n"}),
    Mistake("GloVe as binary", "", ["--embeddings_format=word2vec_binary"]),
]
AUDITS = _mistakes(
    """
    an audit of nothing    no such mechanism     --mechanism=magic --epsilon=5
    all with one epsilon   leave --epsilon       --mechanism=all --epsilon=5
    no audit               not a whole number    --runs=0
    another size           --samples is          --samples=tiny
    a report in use        there already         --report={tmp}/words.txt
    a report below a file  no directory          --report={tmp}/words.txt/r
    a corpus for an audit  unknown flag --input  --input={tmp}/corpus.jsonl
    """
)
LISTS: list[tuple[Callable[[Sequence[str]], None], list[Mistake]]] = [
    (sanitize, FLAGS + FILES + LEDGERS + CONFIGS),
    (release_vectors, VECTORS),
    (build_vocabulary, VOCABULARIES),
    (audit, AUDITS),
]
RELEASE = ["--input={tmp}/corpus.jsonl", "--vocabulary={uri}", "--epsilon=5", "--output={tmp}/out"]
USUAL = {
    "sanitize": RELEASE,
    "release_vectors": [*RELEASE, "--projected_dimensions=4"],
    "build_vocabulary": ["--embeddings={tmp}/words.txt", "--output={tmp}/out"],
    "audit": ["--report={tmp}/audit.json"],
}


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lets ``launch.main`` end without ending the process, and puts the handlers of logs back."""
    for name in ("watch", "ended"):
        monkeypatch.setattr(stopping, name, lambda: None)
    monkeypatch.setattr(stopping, "leave", sys.exit)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level


def _arguments(launcher: str, mistake: Mistake, tmp: Path, uri: str) -> list[str]:
    tiny.write_jsonl(tmp / "corpus.jsonl", CORPUS)
    (tmp / "words.txt").write_text(WORDS)
    for name, content in (mistake.files or {}).items():
        (tmp / name).parent.mkdir(exist_ok=True)
        (tmp / name).write_bytes(content)
    for path in (tmp / "corpus.jsonl", tmp / "words.txt"):  # some tests take them for a key
        path.chmod(0o600)
    given = {flag.partition("=")[0] for flag in mistake.flags}
    usual = [flag for flag in USUAL[launcher] if flag.partition("=")[0] not in given]
    return [flag.format(tmp=tmp, uri=uri) for flag in [*mistake.flags, *usual]]


def _check(mistake: Mistake, code: object, out: str, err: str) -> None:
    assert code == 2, err
    [line] = err.splitlines()
    assert line.startswith("dxbeam: ")
    assert mistake.said in line
    assert "Traceback" not in err
    assert "Error" not in line.partition("(")[0], "a sentence, and no exception's name"
    assert not any(word in out + err for word in SECRETS)


@pytest.mark.parametrize("dry", [False, True], ids=["run", "dry run"])
@pytest.mark.parametrize(
    ("launcher", "mistake"),
    [
        pytest.param(launcher, mistake, id=f"{launcher.__name__}: {mistake.name}")
        for launcher, mistakes in LISTS
        for mistake in mistakes
    ],
)
def test_a_mistake_is_told_in_a_sentence_and_nothing_is_written(
    launcher: Callable[[Sequence[str]], None],
    mistake: Mistake,
    dry: bool,
    uri: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    as_before: None,
) -> None:
    argv = _arguments(launcher.__name__, mistake, tmp_path, uri)
    before = tiny.contents(tmp_path)
    with pytest.raises(SystemExit) as ended:
        launch.main(launcher, argv + ["--dry_run"] * dry)
    _check(mistake, ended.value.code, *capsys.readouterr())
    assert tiny.contents(tmp_path) == before


@pytest.mark.parametrize(
    ("launcher", "mistake"),
    [
        ("sanitize", CONFIGS[0]),
        ("build_vocabulary", VOCABULARIES[1]),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_program_says_the_same(launcher: str, mistake: Mistake, uri: str, tmp_path: Path) -> None:
    argv = _arguments(launcher, mistake, tmp_path, uri)
    finished = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", f"pipelines.{launcher}", *argv],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    _check(mistake, finished.returncode, finished.stdout, finished.stderr)


@pytest.mark.parametrize(
    "launcher", [launcher for launcher, _ in LISTS], ids=[one.__name__ for one, _ in LISTS]
)
def test_a_dry_run_of_what_is_right_says_so_and_writes_nothing(
    launcher: Callable[[Sequence[str]], None],
    uri: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = _arguments(launcher.__name__, Mistake("none", "", []), tmp_path, uri)
    before = tiny.contents(tmp_path)
    for dry in ("--dry_run", "--dry_run=true"):
        launcher([*argv, dry])
        assert "(--dry_run)" in capsys.readouterr().out
    assert tiny.contents(tmp_path) == before


WORDS_3D = tiny.vocabulary(5, 3)
SETTINGS = Configuration(Laplace(5.0))
NOTEBOOK: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "a vocabulary's name": (Sanitizer, ("demo", Laplace(5.0)), "dxbeam.open_vocabulary"),
    "no vocabulary": (Sanitizer, (None, Laplace(5.0)), "Vocabulary"),
    "a mechanism's name": (Sanitizer, (WORDS_3D, "laplace"), "make_mechanism"),
    "a mechanism's class": (Sanitizer, (WORDS_3D, Laplace), "the class Laplace"),
    "no mechanism": (Sanitizer, (WORDS_3D, None), "this is None"),
    "c in place of resampling": (Configuration, (Laplace(5.0), 0.02), "RankResampling(0.02)"),
    "a key as text": (Sanitizer, (WORDS_3D, Laplace(5.0), "a" * 32), "32 bytes"),
    "settings in place of a key": (
        Sanitizer,
        (WORDS_3D, Laplace(5.0), RankResampling(0.02)),
        "in a Configuration",
    ),
    "a length for a bag": (Configuration, (Laplace(5.0), None, "noise", 50), "BagOfWords(50)"),
    "a list of policies": (Configuration, (Laplace(5.0), None, ["keep"]), "`unknown_words` is one"),
    "NaN": (Laplace, (float("nan"),), "not nan"),
    "epsilon as text": (Laplace, ("5",), "not a str"),
    "no epsilon": (Laplace, (None,), "not a NoneType"),
    "epsilon as an array": (Laplace, (np.ones(2),), "not a ndarray"),
    "true for c": (RankResampling, (True,), "not a bool"),
    "a list of epsilons": (lambda: make_mechanism("laplace", epsilon=[5]), (), "must be a number"),
    "true for epsilon": (lambda: make_mechanism("laplace", epsilon=True), (), "must be a number"),
    "a name of stop words": (BagOfWords, (5, "english"), "a set of words"),
    "half a bag": (BagOfWords, (5.0,), "`bag_of_words` must be"),
    "vectors in a list": (Vocabulary, (["a"], [[1.0]]), "NumPy array"),
    "vectors in double precision": (Vocabulary, (["a"], np.ones((1, 2))), "float32"),
    "a word too few": (Vocabulary, (["a"], np.ones((2, 2), np.float32)), "one vector per word"),
    "a vocabulary in place of its name": (artifact.handle, (WORDS_3D,), "the text of its URI"),
    "a mechanism for the transform": (SanitizeDocuments, (Laplace(5.0), "demo"), "Configuration"),
    "a transform without words": (SanitizeDocuments, (SETTINGS, None), "the text of its URI"),
    "YAML without words": (declarative.SanitizeRows, (None, 5), "the text of its URI"),
    "YAML with words for epsilon": (declarative.SanitizeRows, ("demo", "x"), "be a number"),
    "YAML with NaN": (declarative.SanitizeRows, ("demo", float("nan")), "not nan"),
    "YAML with a list of fields": (
        lambda: declarative.SanitizeRows("demo", 5, keep_fields=["a"]),  # type: ignore[arg-type]
        (),
        "separated by commas",
    ),
    "YAML with the text kept": (
        lambda: declarative.SanitizeRows("demo", 5, keep_fields="text"),
        (),
        "never kept",
    ),
    "YAML without places": (declarative.BuildVocabulary, ("", ""), "each name a place"),
    "YAML with fewer than no words": (
        lambda: declarative.BuildVocabulary("a", "b", max_words=-1),
        (),
        "0 or",
    ),
    "numbers as words": (Vocabulary, ([1], np.ones((1, 2), np.float32)), "words are strings"),
    "no release": (verify_release, (None,), "named by a path"),
    "no weights": (read_importance, (None,), "name of a file or a list"),
    "one field for a list": (
        lambda: SanitizeDocuments(SETTINGS, "demo", keep_fields="label"),
        (),
        "put it into a list: ['label']",
    ),
    "YAML with a mapping of parameters": (
        lambda: declarative.SanitizeRows("demo", 5, parameters={"delta": 1}),  # type: ignore[arg-type]
        (),
        "are one text",
    ),
    "YAML with a mapping of levels": (
        lambda: declarative.SanitizeRows("demo", 5, epsilon_by={"a": 1}),  # type: ignore[arg-type]
        (),
        "is one text",
    ),
    "YAML without neighbours": (
        lambda: declarative.BuildVocabulary("a", "b", neighbors=0),
        (),
        "1 or more",
    ),
}


@pytest.mark.parametrize("name", NOTEBOOK)
def test_a_mistake_in_a_notebook_is_told_in_a_sentence(name: str) -> None:
    make, arguments, said = NOTEBOOK[name]
    with pytest.raises(DxbeamError) as refusal:
        make(*arguments)
    assert said in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("given", [b"Evelyn w1", {"id": "a", "text": "Evelyn"}, ("a", "Evelyn"), 7])
def test_what_is_no_document_is_refused_and_not_shown(given: object) -> None:
    with pytest.raises(DxbeamError, match=r"a document is given as Document") as refusal:
        list(Sanitizer(WORDS_3D, Laplace(5.0)).sanitize([given]))  # type: ignore[list-item]
    assert "Evelyn" not in str(refusal.value)


def test_numbers_of_numpys_are_numbers() -> None:
    for five in (np.float32(5), np.float64(5), np.int64(5)):
        assert Laplace(five) == Laplace(5.0)
    [made] = Sanitizer(WORDS_3D, Laplace(np.float32(5))).sanitize([Document("a", "w1")])
    assert made[0].id == "a"
