"""What is seen of each document and its releases, as features, for all that reads them together.

A sentence encoder is slow, so a document is encoded once, whoever looks at it then.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apache_beam.utils.shared import Shared

from dxbeam.analysis.corpora.encoder import open_encoder
from dxbeam.analysis.evaluate.classification import Classification
from dxbeam.analysis.evaluate.text_features import ENCODED, GAPS, Described, FeatureMaker
from dxbeam.analysis.evaluate.transform import DocumentVersions, hash_of
from dxbeam.analysis.evaluate.with_vocabulary import WithVocabulary
from dxbeam.space.artifact.artifact import VocabularyHandle


class Describe(WithVocabulary):
    """Makes features: DocumentVersions -> Described.

    Documents that no question is about are described only where there is an encoder, which sees
    all.

    Args:
      questions: what is classified, each with the features that its models see.
      vocabulary: the handle of the artifact, or None.
      function_words: public words, for features of style.
      encoder: the directory of a sentence encoder, for ENCODED and GAPS; "" for none.
    """

    def __init__(
        self,
        questions: Sequence[Classification],
        vocabulary: VocabularyHandle | None,
        function_words: Sequence[str],
        encoder: str,
    ):
        super().__init__(vocabulary)
        self._fields = list(dict.fromkeys(question.field for question in questions))
        kinds = dict.fromkeys(kind for question in questions for kind in question.models)
        self._kinds = [kind for kind in kinds if kind != ENCODED]
        self._function_words = function_words
        self._path, self._encoders = encoder, Shared()

    def setup(self) -> None:
        """Opens the vocabulary and the encoder."""
        super().setup()
        self._maker = FeatureMaker(self._kinds, self._vocabulary, self._function_words)
        self._gaps = FeatureMaker([GAPS], None, ())
        if self._path:
            self._encoder = self._encoders.acquire(lambda: open_encoder(self._path), tag=self._path)

    def process(self, document: DocumentVersions) -> Iterator[Described]:
        """Describes the original and all that was released of it."""
        values = {field: document.fields.get(field) for field in self._fields}
        labels = {field: str(value) for field, value in values.items() if value is not None}
        if not labels and not self._path:
            return
        versions = [(document.original, document.words)]
        versions += [(released.text, released.words) for released in document.released.values()]
        features = [self._maker.features(*version) if labels else {} for version in versions]
        if self._path:
            vectors = self._encoder.encode([text for text, _ in versions])
            features = [
                {**others, ENCODED: vector, **self._gaps.features(*version)}
                for others, vector, version in zip(features, vectors, versions, strict=True)
            ]
        original, *released = features
        numbered = dict(zip(document.released, released, strict=True))
        yield Described(hash_of(document.id), labels, original, numbered)
