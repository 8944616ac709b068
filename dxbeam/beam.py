"""The transforms for your pipelines: dxbeam's public names for Apache Beam.

    from dxbeam import Configuration, Laplace
    from dxbeam.beam import SanitizeDocuments

    settings = Configuration(Laplace(epsilon=10))
    sanitized = rows | SanitizeDocuments(settings, vocabulary="demo")

``rows`` have an ``id`` and a ``text``. examples/beam_pipeline.py is a whole pipeline. With plain
values as arguments, for Beam YAML: ``dxbeam.transforms.yaml``.
"""

from __future__ import annotations

from dxbeam.corpus.formats import CorpusFormat
from dxbeam.transforms.metrics import CombineTallies, TallyGroups
from dxbeam.transforms.reading.sources import ReadDocuments
from dxbeam.transforms.repair import RepairGrammar
from dxbeam.transforms.sanitize import SanitizeDocuments
from dxbeam.transforms.vectors import ReleaseVectors

__all__ = [
    "CombineTallies",
    "CorpusFormat",
    "ReadDocuments",
    "ReleaseVectors",
    "RepairGrammar",
    "SanitizeDocuments",
    "TallyGroups",
]
