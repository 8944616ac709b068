"""What pipelines and mechanisms carry in place of a language model."""

# No "from __future__ import annotations" here: Beam would read the fields' types as unknown.

from typing import NamedTuple


class LanguageModelHandle(NamedTuple):
    """All that a pipeline carries of a language model.

    Attributes:
      uri: where the artifact is stored, as every worker sees it; DEMO for the packaged one.
      digest: SHA-256 of the manifest's content, which holds that of every file.
      words: N of the vocabulary.
      order: 2 or 3.
      vocabulary: digest of the vocabulary that it is made for.
    """

    uri: str
    digest: str
    words: int
    order: int
    vocabulary: str
