"""Language models on disk: written, opened by several processes, and refused when damaged."""

from __future__ import annotations

import dataclasses
import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dxbeam.errors import ArtifactError, ConfigurationError
from dxbeam.language import artifact
from dxbeam.language.artifact import (
    language_model_handle,
    open_language_model,
    write_language_model,
)
from dxbeam.language.model import LanguageModel, arrays, language_model_of
from dxbeam.language.sources import described_files, refuse_the_corpus
from dxbeam.space.artifact.manifest import digest_of
from tests.support import tiny

VOCABULARY = tiny.vocabulary(40, 2)


def _model(order: int = 2, prune: int = 0) -> LanguageModel:
    generator = np.random.default_rng(0)
    sentences = [generator.integers(-1, 40, 8) % 40 - 1 for _ in range(200)]
    return language_model_of(sentences, VOCABULARY, order, prune)


def _rewrite(place: Path, **changes: Any) -> None:
    manifest = json.loads((place / "manifest.json").read_text())
    del manifest["digest"]
    content = {**manifest, **changes}
    (place / "manifest.json").write_text(json.dumps({**content, "digest": digest_of(content)}))


@pytest.mark.parametrize(("order", "prune"), [(2, 0), (3, 0), (2, 10**6), (3, 10**6)])
def test_an_opened_model_is_the_written_one(tmp_path: Path, order: int, prune: int) -> None:
    model = _model(order, prune)
    handle = write_language_model(str(tmp_path / "m"), model, None, source={"kind": "text"})
    opened = open_language_model(tmp_path / "m", VOCABULARY)
    assert (opened.order, opened.words, opened.vocabulary) == (order, 40, model.vocabulary)
    assert opened.digest == handle.digest == language_model_handle(str(tmp_path / "m")).digest
    for name, array in arrays(model.numbers).items():
        stored = arrays(opened.numbers)[name]
        assert isinstance(stored, np.memmap)
        assert stored.dtype == array.dtype
        assert np.array_equal(stored, array)
    assert (opened.probabilities(opened.start) == model.probabilities(model.start)).all()


def test_an_opened_model_of_which_a_field_was_replaced_has_another_digest(tmp_path: Path) -> None:
    """The digest keys the noise of fluent, which must not be drawn by two models."""
    write_language_model(str(tmp_path), _model(), None)
    opened = open_language_model(tmp_path, VOCABULARY)
    changed = dataclasses.replace(opened, numbers=_model(prune=1).numbers)
    assert changed.digest != opened.digest
    assert changed.digest == _model(prune=1).digest


def test_a_handle_travels_and_opens(tmp_path: Path) -> None:
    handle = write_language_model(str(tmp_path), _model(), None)
    travelled = pickle.loads(pickle.dumps(handle))
    assert open_language_model(travelled, VOCABULARY).digest == handle.digest


def test_files_are_checked_once_on_a_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_language_model(str(tmp_path), _model(), None)
    read = []
    hashed = artifact.storage.sha256
    monkeypatch.setattr(
        artifact.storage, "sha256", lambda path: (read.append(path), hashed(path))[1]
    )
    tiny.let_an_hour_pass(monkeypatch)
    open_language_model(tmp_path, VOCABULARY)
    first = len(read)
    open_language_model(tmp_path, VOCABULARY)
    assert len(read) == first == len(arrays(_model().numbers))


def _cut(place: Path) -> None:
    path = place / "pair_values.npy"
    path.write_bytes(path.read_bytes()[:-4])


def _flip(place: Path) -> None:
    path = place / "prior.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


DAMAGES = {
    "no manifest": (lambda place: (place / "manifest.json").unlink(), "no language model here"),
    "no JSON": (lambda place: (place / "manifest.json").write_text("{"), "not JSON"),
    "a vocabulary": (lambda place: _rewrite(place, format="dxbeam-vocabulary"), "not describe"),
    "newer": (lambda place: _rewrite(place, version=2), "format version"),
    "edited": (
        lambda place: (place / "manifest.json").write_text(
            (place / "manifest.json").read_text().replace('"order": 2', '"order": 3')
        ),
        "digest does not match",
    ),
    "without words": (lambda place: _rewrite(place, words=0), "'words'"),
    "of order 4": (lambda place: _rewrite(place, order=4), "'order'"),
    "without files": (lambda place: _rewrite(place, files={}), "'files'"),
    "no file": (lambda place: (place / "prior.npy").unlink(), "cannot be read"),
    "cut": (_cut, "bytes where the manifest says"),
    "flipped": (_flip, "SHA-256"),
    "of another shape": (lambda place: _rewrite(place, words=39), "do not fit together"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_one_sentence(tmp_path: Path, damage: str) -> None:
    write_language_model(str(tmp_path), _model(), None)
    change, sentence = DAMAGES[damage]
    change(tmp_path)
    with pytest.raises(ArtifactError, match=sentence) as raised:
        open_language_model(str(tmp_path), VOCABULARY)
    assert "\n" not in str(raised.value)


def test_a_model_of_another_vocabulary_is_refused(tmp_path: Path) -> None:
    write_language_model(str(tmp_path), _model(), None)
    with pytest.raises(ArtifactError, match="another vocabulary"):
        open_language_model(tmp_path, tiny.vocabulary(40, 2, seed=1))


def test_a_model_that_was_replaced_is_refused(tmp_path: Path) -> None:
    handle = write_language_model(str(tmp_path), _model(), None)
    shutil.rmtree(tmp_path)
    write_language_model(str(tmp_path), _model(3), None)
    with pytest.raises(ArtifactError, match="replaced"):
        open_language_model(handle, VOCABULARY)


@pytest.mark.parametrize("place", [None, 3])
def test_what_is_no_place_is_refused(place: Any) -> None:
    with pytest.raises(ArtifactError, match="URI"):
        open_language_model(place, VOCABULARY)


def test_a_model_of_the_corpus_itself_is_refused(tmp_path: Path) -> None:
    """By its bytes, whatever it is called; of two files of one size the other passes."""
    public, private, other = (tmp_path / name for name in ("a.txt", "b.txt", "c.txt"))
    public.write_text("a text")
    private.write_text("a text")
    other.write_text("text a")
    manifest = {"source": {"files": described_files([(str(public), "a.txt", 6)])}}
    with pytest.raises(ConfigurationError, match="voids the guarantee"):
        refuse_the_corpus(manifest, [(str(private), "b.txt", 6)])
    refuse_the_corpus(manifest, [(str(other), "c.txt", 6)])
    refuse_the_corpus({}, [(str(private), "b.txt", 6)])
