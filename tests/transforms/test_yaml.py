"""BuildVocabulary of Beam YAML: one artifact, at an empty place, however often it is tried."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import apache_beam as beam
import pytest

from dxbeam import storage
from dxbeam.errors import ConfigurationError, EmbeddingFileError, OutputError
from dxbeam.mechanisms.public.importance import FrequencyWeights
from dxbeam.mechanisms.santext import SanText
from dxbeam.space.artifact import artifact
from dxbeam.transforms.yaml import BuildVocabulary, SanitizeRows
from tests.support import tiny


@pytest.fixture
def embeddings(tmp_path: Path) -> Path:
    return tiny.write_glove(tmp_path / "glove.txt", tiny.vocabulary(50, 4))


def _build(embeddings: Path, output: Path, max_words: int = 0) -> artifact.VocabularyHandle:
    """As an engine runs it."""
    transform = BuildVocabulary(str(embeddings), str(output), max_words=max_words)
    beam.Pipeline() | transform
    return transform._build.build("run")


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_an_existing_vocabulary_is_never_replaced(embeddings: Path, tmp_path: Path) -> None:
    output = tmp_path / "voc[1]"
    made = _build(embeddings, output)
    assert artifact.handle(str(output)) == made
    before = _contents(output)
    with pytest.raises(OutputError, match="is not empty"):
        _build(embeddings, output, max_words=10)
    late = BuildVocabulary(str(embeddings), str(tmp_path / "other"), max_words=10)._build
    with pytest.raises(OutputError, match="is not empty"):
        # The place was empty when the pipeline was made.
        dataclasses.replace(late, output=str(output)).build("late")
    assert _contents(output) == before


def test_what_an_engine_repeats_is_made_once(embeddings: Path, tmp_path: Path) -> None:
    transform = BuildVocabulary(str(embeddings), str(tmp_path / "voc"))
    first, again = (transform._build.build("run") for _ in range(2))
    assert first == again == artifact.handle(str(tmp_path / "voc"))


def test_a_build_that_fails_leaves_an_empty_place(
    embeddings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transform = BuildVocabulary(str(embeddings), str(tmp_path / "voc"))
    copy = storage.copy

    def full(source: str, target: str) -> None:
        copy(source, target)
        if len(list((tmp_path / "voc").iterdir())) == 3:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(storage, "copy", full)
        with pytest.raises(OSError, match="No space"):
            transform._build.build("run")
    assert _contents(tmp_path / "voc") == {}
    handle = transform._build.build("run")
    assert artifact.open_vocabulary(handle).dimensions == 4
    (tmp_path / "bad.txt").write_text("a 1 2\nb 1\n")
    with pytest.raises(EmbeddingFileError):
        _build(tmp_path / "bad.txt", tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_rows_take_weights_of_words_by_name(tmp_path: Path) -> None:
    uri = tiny.write_artifact(tmp_path / "vocabulary")
    made = SanitizeRows(uri, 5.0, "santext", importance="frequency=4")
    assert made._sanitize._configuration.mechanism == SanText(5.0, importance=FrequencyWeights(4.0))
    with pytest.raises(ConfigurationError, match="no finite bound"):
        SanitizeRows(uri, 5.0, importance="frequency")


def test_a_key_in_place_of_its_name_does_not_get_into_a_pipeline(tmp_path: Path) -> None:
    uri = tiny.write_artifact(tmp_path / "vocabulary")
    key = bytes(range(0, 256, 8)).hex()
    rows = beam.Pipeline() | beam.Create([beam.Row(id="a", text="w1")])
    with pytest.raises(ConfigurationError, match="looks like the key itself") as refusal:
        rows | SanitizeRows(uri, 5.0, key_uri=key)
    assert key[:8] not in str(refusal.value)
