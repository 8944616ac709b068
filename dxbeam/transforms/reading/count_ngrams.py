"""WriteNgramCounts: a public corpus -> files of how often its n-grams and casings occur.

Counts are added up in arrays of a million words before anything is passed on, and then by context,
so no worker holds more than the distinct n-grams of one context in PARTS.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import apache_beam as beam
import numpy as np
from apache_beam import pvalue
from apache_beam.transforms.window import GlobalWindows
from apache_beam.utils.windowed_value import WindowedValue

from dxbeam import storage
from dxbeam.language.counts import Counts, Ids, counted, ngram_codes, summed
from dxbeam.language.sentences import sentence_ends
from dxbeam.space.artifact.artifact import VocabularyHandle
from dxbeam.space.vocabulary.words import UNKNOWN
from dxbeam.text.tokenization import parts
from dxbeam.transforms.with_vocabulary import WithVocabulary

TRAINING, HELD_OUT = "training", "held-out"
PARTS = 32

_WORDS_AT_ONCE = 1 << 20
_CASINGS, _DOCUMENTS = "casings", "documents"

_sentence_ends = functools.lru_cache(1 << 12)(sentence_ends)


class WriteNgramCounts(beam.PTransform):
    """Counts the n-grams of documents: PCollection[Document] -> PCollection[str], files written.

    Args:
      vocabulary: the handle of the artifact.
      order: the length of the n-grams, 2 or 3.
      held_out: the share of documents that is counted apart, chosen by their texts' digests.
      place: the directory or gs:// prefix to write to.
    """

    def __init__(self, vocabulary: VocabularyHandle, order: int, held_out: float, place: str):
        super().__init__()
        self._vocabulary = vocabulary
        self._order = order
        self._held_out = held_out
        self._place = place

    def expand(self, documents: pvalue.PCollection) -> pvalue.PCollection:
        """Counts per bundle, adds up by context, writes."""
        counted = documents | "Count" >> beam.ParDo(
            _Count(self._vocabulary, self._order, self._held_out)
        ).with_outputs(_CASINGS, _DOCUMENTS, main="ngrams")
        counted[_CASINGS].element_type = beam.typehints.KV[
            int, bytes
        ]  # Beam takes tagged outputs for Any
        counted[_DOCUMENTS].element_type = beam.typehints.KV[str, int]
        ngrams = (
            counted["ngrams"]
            | "AddUp" >> beam.CombinePerKey(_AddCounts())
            | "WriteCounts" >> beam.Map(_write_counts, self._place).with_output_types(str)
        )
        casings = (
            counted[_CASINGS]
            | "AddCasings" >> beam.CombinePerKey(_AddCasings())
            | "WriteCasings" >> beam.Map(_write_casings, self._place).with_output_types(str)
        )
        numbers = (
            counted[_DOCUMENTS]
            | "AddDocuments" >> beam.CombinePerKey(sum)
            | "WriteDocuments" >> beam.Map(_write_documents, self._place).with_output_types(str)
        )
        return (ngrams, casings, numbers) | "Files" >> beam.Flatten()


@beam.typehints.with_output_types(tuple[tuple[str, int], bytes])
class _Count(WithVocabulary):
    def __init__(self, vocabulary: VocabularyHandle, order: int, held_out: float):
        super().__init__(vocabulary)
        self._order = order
        self._held_out = int(held_out * (1 << 32))

    def start_bundle(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._ids: dict[str, list[Ids]] = {TRAINING: [], HELD_OUT: []}
        self._starts: dict[str, list[Any]] = {TRAINING: [], HELD_OUT: []}
        self._forms: Counter[str] = Counter()
        self._first_forms: Counter[str] = Counter()
        self._documents: Counter[str] = Counter()
        self._words = 0

    def process(self, document: Any) -> Iterator[Any]:
        digest = hashlib.blake2b(document.text.encode("utf-8", "replace"), digest_size=4).digest()
        side = HELD_OUT if int.from_bytes(digest, "big") < self._held_out else TRAINING
        self._documents[side] += 1
        starting = True
        for gaps, words in parts(document.text):
            if not words:
                continue
            starts = [starting or _sentence_ends(gaps[0]), *map(_sentence_ends, gaps[1:])]
            starts = starts[: len(words)]
            self._ids[side].append(self._vocabulary.ids_of(words))
            self._starts[side].append(np.array(starts, np.bool_))
            self._words += len(words)
            starting = False
            if side == TRAINING and self._vocabulary.lowercase:
                self._forms.update(words)
                self._first_forms.update(w for w, first in zip(words, starts, strict=True) if first)
        if self._words >= _WORDS_AT_ONCE:
            yield from self._counted()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        yield from map(_in_global_window, self._counted())

    def _counted(self) -> Iterator[Any]:
        words, context = len(self._vocabulary), (len(self._vocabulary) + 2) ** (self._order - 1)
        for side, documents in self._documents.items():
            yield pvalue.TaggedOutput(_DOCUMENTS, (side, documents))
        for side, ids in self._ids.items():
            if not ids:
                continue
            starts = np.concatenate(self._starts[side])
            codes = ngram_codes(np.concatenate(ids), starts, words, self._order)
            counts = counted(codes, words, self._order)
            part = counts.codes // context % PARTS
            for number in np.unique(part).tolist():
                chosen = part == number
                yield (side, number), _packed(counts.codes[chosen], counts.counts[chosen])
        yield from self._casings()
        self._clear()

    def _casings(self) -> Iterator[Any]:
        forms = list(self._forms)
        by_part: dict[int, list[tuple[int, str, int, int]]] = {}
        for number, form in zip(self._vocabulary.ids_of(forms).tolist(), forms, strict=True):
            if number != UNKNOWN:
                first = self._first_forms[form]
                row = (number, form, self._forms[form] - first, first)
                by_part.setdefault(number % PARTS, []).append(row)
        for part, rows in by_part.items():
            yield pvalue.TaggedOutput(_CASINGS, (part, json.dumps(rows).encode()))


def _in_global_window(element: Any) -> Any:
    if isinstance(element, pvalue.TaggedOutput):
        return pvalue.TaggedOutput(element.tag, GlobalWindows.windowed_value(element.value))
    return GlobalWindows.windowed_value(element)


def _packed(codes: Ids, counts: Ids) -> bytes:
    return codes.tobytes() + counts.tobytes()


def _unpacked(packed: bytes) -> tuple[Ids, Ids]:
    codes, counts = np.frombuffer(packed, np.int64).reshape(2, -1)
    return codes, counts


@beam.typehints.with_input_types(bytes)
@beam.typehints.with_output_types(bytes)
class _AddCounts(beam.CombineFn):
    """Adds up counts; an accumulator is what waits and the sum so far, and is kept short."""

    def create_accumulator(self) -> list[bytes]:
        return []

    def add_input(self, accumulator: list[bytes], packed: bytes) -> list[bytes]:
        accumulator.append(packed)
        waiting = sum(map(len, accumulator[1:]))
        return _sum(accumulator) if waiting > max(1 << 24, len(accumulator[0])) else accumulator

    def merge_accumulators(self, accumulators: Iterable[list[bytes]]) -> list[bytes]:
        merged: list[bytes] = []
        for accumulator in accumulators:
            for packed in accumulator:
                merged = self.add_input(merged, packed)
        return merged

    def compact(self, accumulator: list[bytes]) -> list[bytes]:
        return _sum(accumulator)

    def extract_output(self, accumulator: list[bytes]) -> bytes:
        return b"".join(_sum(accumulator))


def _sum(accumulator: list[bytes]) -> list[bytes]:
    if len(accumulator) < 2:
        return accumulator
    codes, counts = zip(*map(_unpacked, accumulator), strict=True)
    return [_packed(*summed(np.concatenate(codes), np.concatenate(counts)))]


@beam.typehints.with_input_types(bytes)
@beam.typehints.with_output_types(bytes)
class _AddCasings(beam.CombineFn):
    def create_accumulator(self) -> dict[tuple[int, str], tuple[int, int]]:
        return {}

    def add_input(self, accumulator: dict[Any, Any], rows: bytes) -> dict[Any, Any]:
        for word, form, inside, first in json.loads(rows):
            before = accumulator.get((word, form), (0, 0))
            accumulator[word, form] = (before[0] + inside, before[1] + first)
        return accumulator

    def merge_accumulators(self, accumulators: Iterable[dict[Any, Any]]) -> dict[Any, Any]:
        merged: dict[Any, Any] = {}
        for accumulator in accumulators:
            for key, (inside, first) in accumulator.items():
                before = merged.get(key, (0, 0))
                merged[key] = (before[0] + inside, before[1] + first)
        return merged

    def extract_output(self, accumulator: dict[Any, Any]) -> bytes:
        return json.dumps([[*key, *value] for key, value in sorted(accumulator.items())]).encode()


def _write(name: str, content: bytes, place: str) -> str:
    path = storage.join(place, name)
    with storage.open_write(path) as file:
        file.write(content)
    return path


def _write_counts(counts: tuple[tuple[str, int], bytes], place: str) -> str:
    (side, part), packed = counts
    content = io.BytesIO()
    np.save(content, np.stack(_unpacked(packed)))
    return _write(f"{side}-{part:02}.npy", content.getvalue(), place)


def _write_casings(casings: tuple[int, bytes], place: str) -> str:
    return _write(f"{_CASINGS}-{casings[0]:02}.json", casings[1], place)


def _write_documents(documents: tuple[str, int], place: str) -> str:
    return _write(f"{_DOCUMENTS}-{documents[0]}.json", str(documents[1]).encode(), place)


def read_counts(place: str, side: str, words: int, order: int) -> Counts:
    """The counts that were written of one side; empty where it has no documents."""
    arrays = [np.zeros((2, 0), np.int64)]
    for name in _written(place, f"{side}-"):
        content = io.BytesIO(storage.read(storage.join(place, name)))
        arrays.append(np.load(content, allow_pickle=False))
    codes, counts = np.concatenate(arrays, axis=1)
    in_order = np.argsort(codes)  # the parts have no n-gram in common
    return Counts(words, order, codes[in_order], counts[in_order])


def read_casings(place: str) -> dict[int, dict[str, tuple[int, int]]]:
    """How often each form of each word was written inside sentences, and first in one."""
    by_word: dict[int, dict[str, tuple[int, int]]] = {}
    for name in _written(place, f"{_CASINGS}-"):
        for word, form, inside, first in json.loads(storage.read(storage.join(place, name))):
            by_word.setdefault(word, {})[form] = (inside, first)
    return by_word


def read_documents(place: str, side: str) -> int:
    """How many documents one side has."""
    path = storage.join(place, f"{_DOCUMENTS}-{side}.json")
    return int(storage.read(path)) if storage.exists(path) else 0


def _written(place: str, start: str) -> list[str]:
    return sorted(name for name in storage.names_below(place) if name.startswith(start))
