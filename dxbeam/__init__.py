"""Word-level metric differential privacy for text: the public names.

    import dxbeam

    vocabulary = dxbeam.open_vocabulary("demo")
    print(dxbeam.Sanitizer(vocabulary, dxbeam.Laplace(epsilon=10)).sanitize_text("A text."))

A name is imported when it is first used, and none of them imports Apache Beam. The same as Beam
transforms: ``dxbeam.beam``.
"""

from __future__ import annotations

from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what type checkers and editors see
    from dxbeam.analysis.preview.inline import preview
    from dxbeam.documents import Document, Rejected
    from dxbeam.errors import DxbeamError
    from dxbeam.guarantees import Guarantee
    from dxbeam.language.artifact import open_language_model
    from dxbeam.language.model import LanguageModel, language_model_of
    from dxbeam.mechanisms import make_mechanism
    from dxbeam.mechanisms.cluster_response import ClusterResponse
    from dxbeam.mechanisms.coordinate_laplace import CoordinateLaplace
    from dxbeam.mechanisms.custext import CusText
    from dxbeam.mechanisms.diffractor import Diffractor
    from dxbeam.mechanisms.diffractor_tem import DiffractorTEM
    from dxbeam.mechanisms.fluent import Fluent
    from dxbeam.mechanisms.gaussian import Gaussian
    from dxbeam.mechanisms.laplace import Laplace
    from dxbeam.mechanisms.mahalanobis import Mahalanobis
    from dxbeam.mechanisms.public.base_measure import FrequencyBase, ListedBase
    from dxbeam.mechanisms.public.importance import FrequencyWeights, WordWeights
    from dxbeam.mechanisms.published.custext_published import CusTextPublished
    from dxbeam.mechanisms.published.mahalanobis_published import MahalanobisPublished
    from dxbeam.mechanisms.published.scaled_noise_published import ScaledNoisePublished
    from dxbeam.mechanisms.published.tem_published import TEMPublished
    from dxbeam.mechanisms.published.trlaplace_published import TrLaplacePublished
    from dxbeam.mechanisms.published.truncated_gumbel import TruncatedGumbel
    from dxbeam.mechanisms.sampling.resampling import RankResampling
    from dxbeam.mechanisms.santext import SanText
    from dxbeam.mechanisms.santext_plus import SanTextPlus
    from dxbeam.mechanisms.tem import TEM
    from dxbeam.mechanisms.trlaplace import TrLaplace
    from dxbeam.mechanisms.vickrey import Vickrey
    from dxbeam.release.verification.verify import VerifiedRelease, verify_release
    from dxbeam.space.artifact.artifact import open_vocabulary
    from dxbeam.space.vocabulary.words import Vocabulary
    from dxbeam.text.bag_of_words import BagOfWords
    from dxbeam.text.bag_of_words_published import BagOfWordsPublished
    from dxbeam.text.batch import Sanitized
    from dxbeam.text.configuration import Configuration
    from dxbeam.text.decoding.decoder import Decoder
    from dxbeam.text.epsilon_by_field import EpsilonByField
    from dxbeam.text.plain_settings import configuration_of
    from dxbeam.text.public.base_file import read_base
    from dxbeam.text.public.constant_file import read_constant
    from dxbeam.text.public.importance_file import read_importance
    from dxbeam.text.sanitizer import Sanitizer
    from dxbeam.text.tally import Tally
    from dxbeam.text.word_rule import WordRule
    from dxbeam.vectors.configuration import VectorConfiguration
    from dxbeam.vectors.release import ReleasedVector, VectorReleaser

    __version__: str

__all__ = [
    "TEM",
    "BagOfWords",
    "BagOfWordsPublished",
    "ClusterResponse",
    "Configuration",
    "CoordinateLaplace",
    "CusText",
    "CusTextPublished",
    "Decoder",
    "Diffractor",
    "DiffractorTEM",
    "Document",
    "DxbeamError",
    "EpsilonByField",
    "Fluent",
    "FrequencyBase",
    "FrequencyWeights",
    "Gaussian",
    "Guarantee",
    "LanguageModel",
    "Laplace",
    "ListedBase",
    "Mahalanobis",
    "MahalanobisPublished",
    "RankResampling",
    "Rejected",
    "ReleasedVector",
    "SanText",
    "SanTextPlus",
    "Sanitized",
    "Sanitizer",
    "ScaledNoisePublished",
    "TEMPublished",
    "Tally",
    "TrLaplace",
    "TrLaplacePublished",
    "TruncatedGumbel",
    "VectorConfiguration",
    "VectorReleaser",
    "VerifiedRelease",
    "Vickrey",
    "Vocabulary",
    "WordRule",
    "WordWeights",
    "__version__",
    "configuration_of",
    "language_model_of",
    "make_mechanism",
    "open_language_model",
    "open_vocabulary",
    "preview",
    "read_base",
    "read_constant",
    "read_importance",
    "verify_release",
]

_MODULES = {
    "analysis.preview.inline": ("preview",),
    "documents": ("Document", "Rejected"),
    "errors": ("DxbeamError",),
    "guarantees": ("Guarantee",),
    "language.artifact": ("open_language_model",),
    "language.model": ("LanguageModel", "language_model_of"),
    "mechanisms": ("make_mechanism",),
    "mechanisms.public.base_measure": ("FrequencyBase", "ListedBase"),
    "mechanisms.public.importance": ("FrequencyWeights", "WordWeights"),
    "mechanisms.sampling.resampling": ("RankResampling",),
    "release.verification.verify": ("VerifiedRelease", "verify_release"),
    "space.artifact.artifact": ("open_vocabulary",),
    "space.vocabulary.words": ("Vocabulary",),
    "text.tally": ("Tally",),
    "text.word_rule": ("WordRule",),
    "text.bag_of_words": ("BagOfWords",),
    "text.bag_of_words_published": ("BagOfWordsPublished",),
    "text.plain_settings": ("configuration_of",),
    "text.public.base_file": ("read_base",),
    "text.public.constant_file": ("read_constant",),
    "text.configuration": ("Configuration",),
    "text.decoding.decoder": ("Decoder",),
    "text.epsilon_by_field": ("EpsilonByField",),
    "text.public.importance_file": ("read_importance",),
    "text.sanitizer": ("Sanitized", "Sanitizer"),
    "vectors.configuration": ("VectorConfiguration",),
    "vectors.release": ("ReleasedVector", "VectorReleaser"),
}
"""Where the public names are found, but for mechanisms, which the registry knows."""

_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'dxbeam' has no attribute {name!r}")
    value = globals()[name] = _public(name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


def _public(name: str) -> Any:
    if name == "__version__":
        return metadata.version("dxbeam")
    if name in _MODULE_OF:
        return getattr(import_module(f"dxbeam.{_MODULE_OF[name]}"), name)
    mechanisms = import_module("dxbeam.mechanisms").MECHANISMS.values()
    return next(mechanism for mechanism in mechanisms if mechanism.__name__ == name)
