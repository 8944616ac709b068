"""``import dxbeam``: every public name, quickly, and without Beam."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

import dxbeam
from dxbeam.mechanisms import MECHANISMS
from dxbeam.space.vocabulary.words import Vocabulary
from tests.support import tiny

MOST_SECONDS = 1.0

WITHOUT_BEAM = """
import sys
sys.modules["apache_beam"] = None  # so that every import of it fails
import dxbeam
"""


def run_python(program: str) -> str:
    """What a program prints in a separate process."""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_public_names_are_these() -> None:
    others = """
    BagOfWords BagOfWordsPublished Configuration Decoder Document DxbeamError EpsilonByField
    FrequencyBase FrequencyWeights Guarantee LanguageModel ListedBase RankResampling Rejected
    ReleasedVector Sanitized Sanitizer Tally VectorConfiguration VectorReleaser VerifiedRelease
    Vocabulary WordRule WordWeights __version__ configuration_of language_model_of make_mechanism
    open_language_model open_vocabulary preview read_base read_constant read_importance
    verify_release
    """.split()
    mechanisms = [mechanism.__name__ for mechanism in MECHANISMS.values()]
    assert set(dxbeam.__all__) == {*others, *mechanisms}, (
        "dxbeam/__init__.py names a mechanism twice: in __all__ and in the imports under "
        "TYPE_CHECKING; and a new public name stands in this test too"
    )


@pytest.mark.parametrize("name", dxbeam.__all__)
def test_a_public_name_can_be_used(name: str) -> None:
    value = getattr(dxbeam, name)
    assert name in dir(dxbeam)
    if inspect.isclass(value):
        assert value.__name__ == name
    if name != "__version__":
        assert value.__doc__, "a public name says what it is"


def test_type_checkers_and_editors_see_the_public_names() -> None:
    tree = ast.parse(Path(dxbeam.__file__).read_text("utf-8"))
    [block] = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    seen = {"__version__"}
    for node in block.body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                seen.add(alias.asname or alias.name)
                module = __import__(str(node.module), fromlist=[alias.name])
                assert getattr(module, alias.name) is getattr(dxbeam, alias.asname or alias.name)
    assert seen == set(dxbeam.__all__)


def test_the_transforms_have_one_name_each() -> None:
    from dxbeam import beam
    from dxbeam.transforms import sanitize, yaml
    from dxbeam.transforms.reading import sources

    for name in beam.__all__:
        assert getattr(beam, name).__name__ == name
        assert getattr(beam, name).__doc__
        assert not hasattr(yaml, name) or getattr(yaml, name) is getattr(beam, name)
    assert beam.SanitizeDocuments is sanitize.SanitizeDocuments
    assert beam.ReadDocuments is sources.ReadDocuments


def test_what_guarantees_nothing_has_a_door_of_that_name() -> None:
    from dxbeam import published

    mechanisms = {
        mechanism.__name__
        for mechanism in MECHANISMS.values()
        if ".published." in mechanism.__module__
    }
    assert set(published.__all__) == mechanisms | {"BagOfWordsPublished"}
    for name in published.__all__:
        assert getattr(published, name) is getattr(dxbeam, name)
    with pytest.raises(AttributeError, match="no attribute 'Laplace'"):
        published.Laplace  # noqa: B018


def test_what_is_no_public_name_is_not_found() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Laplacian'"):
        dxbeam.Laplacian  # noqa: B018
    everything: dict[str, object] = {}
    exec("from dxbeam import *", everything)
    assert set(dxbeam.__all__) <= set(everything)


def test_the_version_is_that_of_the_package() -> None:
    assert dxbeam.__version__ == metadata.version("dxbeam")


def test_a_mechanism_is_imported_quickly_and_alone() -> None:
    """Processor time, as other programs may be running; without what only releases need."""
    printed = run_python(
        "import dxbeam, sys, time\n"
        "dxbeam.Laplace\n"
        "heavy = ['apache_beam', 'faiss', 'google', 'onnx', 'onnxruntime', 'pyarrow', 'scipy']\n"
        "print(time.process_time(), *[name for name in heavy if name in sys.modules])"
    )
    seconds, *imported = printed.split()
    assert float(seconds) < MOST_SECONDS
    assert imported == []


@pytest.mark.slow
def test_no_public_name_imports_beam() -> None:
    run_python(f"{WITHOUT_BEAM}for name in dxbeam.__all__: getattr(dxbeam, name)")


def test_a_text_is_sanitized_without_beam() -> None:
    printed = run_python(
        f"{WITHOUT_BEAM}"
        'sanitizer = dxbeam.Sanitizer(dxbeam.open_vocabulary("demo"), dxbeam.Laplace(epsilon=10))\n'
        'print(sanitizer.sanitize_text("The patient was seen, on Monday."))'
    )
    assert len(printed.replace(",", "").replace(".", "").split()) == 6
    assert printed.endswith(".\n")


@pytest.mark.slow
def test_vectors_are_released_and_releases_verified_without_beam(tmp_path: Path) -> None:
    corpus = tiny.write_jsonl(tmp_path / "corpus.jsonl", [{"id": "a", "text": "good morning"}])
    tiny.run("demo", corpus, tmp_path / "release")
    printed = run_python(
        f"{WITHOUT_BEAM}"
        'vocabulary = dxbeam.open_vocabulary("demo")\n'
        'settings = dxbeam.VectorConfiguration.for_vocabulary(vocabulary, 10.0, unit="text")\n'
        "[released] = dxbeam.VectorReleaser(vocabulary, settings).release(['good morning'])\n"
        f"release = dxbeam.verify_release({str(tmp_path / 'release')!r})\n"
        "print(len(released.vector), release.manifest['tokens'])"
    )
    assert printed.split() == ["50", "2"]


def test_a_vocabulary_is_opened_by_where_it_lies(tmp_path: Path) -> None:
    uri = tiny.write_artifact(tmp_path / "words")
    for named in (uri, Path(uri), f"file://{uri}"):
        vocabulary = dxbeam.open_vocabulary(named)
        assert isinstance(vocabulary, Vocabulary)
        assert vocabulary.words[:2] == ["w0", "w1"]


@pytest.mark.parametrize("given", [None, 7, b"demo"])
def test_what_names_no_vocabulary_is_refused_in_a_sentence(given: object) -> None:
    with pytest.raises(dxbeam.DxbeamError, match="the text of its URI, or 'demo'"):
        dxbeam.open_vocabulary(given)  # type: ignore[arg-type]
