"""Documents -> sanitized documents and tallies; the whole job without Beam."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dxbeam.documents import (
    Document,
    as_documents,
    id_as_text,
    with_random_id,
)
from dxbeam.errors import ConfigurationError, CorpusError, described
from dxbeam.keys import given_or_new_key
from dxbeam.language.model import LanguageModel
from dxbeam.mechanisms import Mechanism, ReadsReleased
from dxbeam.mechanisms.sampling.released_before import STARTS as STARTS_SENTENCE
from dxbeam.mechanisms.sampling.released_before import places_after
from dxbeam.randomness import document_key, draws_a_word, fill
from dxbeam.space.search.neighbors import Ids, NeighborSearch
from dxbeam.space.vocabulary.remarks import remarks
from dxbeam.space.vocabulary.words import UNKNOWN, Vocabulary
from dxbeam.text.adapters.tables import SanitizedTable, sanitize_table
from dxbeam.text.batch import Sanitized
from dxbeam.text.candidates import Candidate, candidates_of, checked_shown
from dxbeam.text.configuration import Configuration, as_configuration
from dxbeam.text.decoding.decoder import CONTEXT
from dxbeam.text.decoding.likelihoods import Posterior
from dxbeam.text.decoding.pieces import Breaks
from dxbeam.text.decoding.reader import Reader, breaks_of_runs, chosen
from dxbeam.text.parts.in_order import sanitize_in_order
from dxbeam.text.public.public_model import naming
from dxbeam.text.truecase import truecased

_BEFORE = np.array([STARTS_SENTENCE, 0, UNKNOWN])  # what places_after calls STARTS, FOLLOWS, CUT


class Sanitizer:
    """Replaces every word of a text by a differentially private one.

    Args:
      vocabulary: the public words and vectors, from ``open_vocabulary``; or a NeighborSearch over
        them, to share it between sanitizers or to choose its threads.
      configuration: the settings of the release; a mechanism by itself stands for
        ``Configuration(mechanism)``.
      secret_key: 32 bytes from a cryptographic source, to draw the same noise again. By default a
        new key that is forgotten with this object.
      language_model: the public model that the configuration's decoder reads with and truecase
        knows capitals from, made for this vocabulary; None where there is neither. It must not be
        made from the private corpus: that voids the guarantee.
      candidates: how many candidates of each word are shown next to a decoded text, see
        candidates.py; 0 for none.

    Raises:
      ConfigurationError: no vocabulary, settings that ``Configuration`` refuses, or no key; a
        decoder without a language model or the other way round, or a model of another vocabulary
        or of another digest than the decoder names.

    Warns:
      UserWarning: a vocabulary that is probably a mistake; see space/vocabulary/remarks.py.
    """

    def __init__(
        self,
        vocabulary: Vocabulary | NeighborSearch,
        configuration: Configuration | Mechanism,
        secret_key: bytes | None = None,
        language_model: LanguageModel | None = None,
        candidates: int = 0,
    ):
        settings = as_configuration(configuration)
        if isinstance(vocabulary, Vocabulary):
            for remark in remarks(vocabulary):
                warnings.warn(remark, stacklevel=2)
        self.search = (
            vocabulary if isinstance(vocabulary, NeighborSearch) else NeighborSearch(vocabulary)
        )
        self.language_model = language_model
        self.configuration = naming(settings, language_model, self.search.vocabulary)
        self.shows = checked_shown(candidates, self.configuration)
        self._secret_key = given_or_new_key(secret_key)
        self._digest = self.configuration.digest(self.search.vocabulary.content_digest)
        self._levels: dict[float, Sanitizer] = {}
        self._reader = self._new_reader()

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("a Sanitizer holds a secret key and is not pickled; make it where it runs")

    def sanitize_text(self, text: str, document_id: str | int | None = None) -> str:
        """Sanitizes one text.

        Each call without an id is a separate release: whoever sees two releases of one text
        learns from both, and their epsilons add up.

        Args:
          text: what to sanitize.
          document_id: enters the noise together with the text, so that a kept secret key draws the
            same noise again. Equal texts with one id come out equal, which shows that they were
            equal. By default a new random id, so no two calls share noise.

        Raises:
          ConfigurationError: the text or the id is no string.
          CorpusError: the text cannot be written again: it holds a null byte, or is not valid
            Unicode.
        """
        if not isinstance(text, str):
            raise ConfigurationError(
                f"sanitize_text takes one text as a string, and this is {described(text)}"
                + ("; decode it first" if isinstance(text, bytes) else "")
            )
        document_id = id_as_text(document_id)
        if document_id is not None and not isinstance(document_id, str):
            raise ConfigurationError(
                "document_id is a string or an integer, or left out, and this is "
                f"{described(document_id)}"
            )
        document = with_random_id(text) if document_id is None else Document(document_id, text)
        [result] = self.sanitize([document])
        if result.rejected:
            raise CorpusError(f"this text cannot be sanitized: {result.rejected.reason}")
        assert result.document
        return result.document.text

    def sanitize(self, documents: Iterable[Document | str]) -> Iterator[Sanitized]:
        """Sanitizes documents in order; of one that cannot be used, the result is why.

        Noise is keyed by a document's id and text. Documents are not compared with one another, so
        equal texts with one id come out equal, which shows that they were equal: give each document
        a separate id. A plain string gets a new random id, so no two strings share noise, and a
        kept secret key cannot draw their noise again: sanitizing a string once more is another
        release of it.

        Args:
          documents: documents and plain strings.

        Raises:
          ConfigurationError: this is no iterable of documents, or one of its elements is neither a
            document nor a string.
        """
        return sanitize_in_order(self, as_documents(documents, "sanitize"))

    def sanitize_table(
        self,
        table: Any,
        text: str = "text",
        id: str | None = None,
        keep: Sequence[str] = (),
        n_jobs: int = 1,
    ) -> SanitizedTable:
        """Sanitizes a column of a table.

        What is released does not depend on ``n_jobs``. All rows whose id occurs more than once are
        rejected. Under a kept secret key give the rows ids: without them a row is named by its
        number, and equal texts in the same row of two tables come out equal.

        Args:
          table: a pyarrow.Table or a pandas.DataFrame.
          text: the column of texts.
          id: the column of ids, strings or integers, which is released; None names rows by their
            numbers.
          keep: further columns of the result, which are released as they are. Neither the index
            of a data frame nor metadata is kept.
          n_jobs: threads that share the work.

        Raises:
          ConfigurationError: no table, or no such columns.
        """
        levels = self.configuration.epsilon_by

        def for_a_thread() -> Sanitizer:
            if n_jobs == 1:
                return self
            return Sanitizer(
                NeighborSearch(self.search.vocabulary, 1),
                self.configuration,
                self._secret_key,
                self.language_model,
                self.shows,
            )

        level = levels.field if levels else None
        return sanitize_table(for_a_thread, table, text, id, keep, level, n_jobs)

    def at_level(self, level: str) -> Sanitizer | None:
        """The sanitizer of a level, with this one's search and key; None where it has none."""
        levels = self.configuration.epsilon_by
        if levels is None:
            return self
        epsilon = levels.epsilon_of(level)
        if epsilon is not None and epsilon not in self._levels:
            settings = self.configuration.with_epsilon(epsilon)
            self._levels[epsilon] = Sanitizer(
                self.search, settings, self._secret_key, self.language_model, self.shows
            )
        return None if epsilon is None else self._levels[epsilon]

    def _new_reader(self) -> Reader | None:
        """What decodes; None where there is no decoder, or each level has a sanitizer."""
        settings, model = self.configuration, self.language_model
        if settings.decoder is None or model is None or settings.epsilon_by:
            return None
        unknown = settings.unknown_words == "noise" or settings.bag is not None  # as a filler
        return Reader(
            settings.decoder, settings.mechanism, self.search, model, unknown, self.search.threads
        )

    @property
    def reads_context(self) -> bool:
        """Whether words are decoded together with those around them."""
        return self._reader is not None and self._reader.decoder.kind == CONTEXT

    @cached_property
    def reads_released(self) -> bool:
        """Whether words are drawn after reading the ones released before them."""
        return isinstance(self.configuration.mechanism, ReadsReleased)

    def release(
        self,
        keys: Iterable[tuple[bytes, int, int]],
        ids: Ids,
        breaks: Breaks | None = None,
    ) -> Ids:
        """Draws the word that is released in place of each word.

        Args:
          keys: for each run of words of one document, in order: the document's key, the position
            of the run's first word in its document, and the number of words in the run.
          ids: int64 [B], the ids of all words of all runs, one after the other.
          breaks: int8 [B], where sentences start, for a decoder that reads words together or a
            mechanism that reads released words; by default every run is one sentence.

        Returns:
          int64 [B].
        """
        return self._released(keys, ids, breaks)[0]

    def release_and_show(
        self,
        keys: Iterable[tuple[bytes, int, int]],
        ids: Ids,
        breaks: Breaks | None = None,
    ) -> tuple[Ids, list[list[Candidate]]]:
        """As ``release``, and the candidates of each word, which its decoder held for probable."""
        released, posterior = self._released(keys, ids, breaks)
        assert posterior is not None
        return released, candidates_of(posterior, self.shows, self.search.vocabulary)

    def _released(
        self, keys: Iterable[tuple[bytes, int, int]], ids: Ids, breaks: Breaks | None
    ) -> tuple[Ids, Posterior | None]:
        keys, posterior = list(keys), None
        mechanism, resampling = self.configuration.mechanism, self.configuration.resampling
        needed = mechanism.draws(self.search.vocabulary.dimensions)
        draws = draws_a_word(needed + (resampling.draws() if resampling else 0))
        random = np.empty((len(ids), draws), np.uint64)
        start = 0
        for key, position, count in keys:
            fill(key, position, random[start : start + count])
            start += count
        drawing = random[:, :needed]
        if breaks is None:
            breaks = breaks_of_runs([(position, count) for _, position, count in keys])
        if self._reader is not None and self.shows:
            posterior = self._reader.posteriors(ids, drawing, breaks)
            released = chosen(self._reader.decoder, posterior, self.search.vocabulary)
        elif self._reader is not None:
            released = self._reader.release(ids, drawing, breaks)
        elif isinstance(mechanism, ReadsReleased):
            places = places_after(_BEFORE[breaks])
            released = mechanism.release_in_order(ids, drawing, self.search, places)
        else:
            released = mechanism.release(ids, drawing, self.search)
        if resampling:
            rest = random[:, needed : needed + resampling.draws()]
            released = resampling.resample(released, rest, mechanism.epsilon, self.search)
        return released, posterior

    def written(self, text: str) -> str:
        """A text whose words are all released, with the capitals of public text if asked for."""
        model = self.language_model
        if self.configuration.truecase is None or model is None or model.casings is None:
            return text
        return truecased(text, model.casings.forms)

    def document_key(self, document: Document) -> bytes:
        """The key of a document's noise under this configuration."""
        return document_key(self._secret_key, self._digest, document.id, document.text)
