"""What guarantees nothing, kept to compare with: mechanisms and bags as their papers have them.

    from dxbeam import published

    published.TrLaplacePublished(epsilon=1.0)

The same objects as ``dxbeam.TrLaplacePublished`` and so on, under a name that says what they are.
A ``Configuration`` takes them only with ``allow_unsound=True``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dxbeam

if TYPE_CHECKING:  # what type checkers and editors see
    from dxbeam.mechanisms.published.custext_published import CusTextPublished
    from dxbeam.mechanisms.published.mahalanobis_published import MahalanobisPublished
    from dxbeam.mechanisms.published.scaled_noise_published import ScaledNoisePublished
    from dxbeam.mechanisms.published.tem_published import TEMPublished
    from dxbeam.mechanisms.published.trlaplace_published import TrLaplacePublished
    from dxbeam.mechanisms.published.truncated_gumbel import TruncatedGumbel
    from dxbeam.text.bag_of_words_published import BagOfWordsPublished

__all__ = [
    "BagOfWordsPublished",
    "CusTextPublished",
    "MahalanobisPublished",
    "ScaledNoisePublished",
    "TEMPublished",
    "TrLaplacePublished",
    "TruncatedGumbel",
]


def __getattr__(name: str) -> Any:
    """Imports a name when it is first used."""
    if name not in __all__:
        raise AttributeError(f"module 'dxbeam.published' has no attribute {name!r}")
    return getattr(dxbeam, name)


def __dir__() -> list[str]:
    return sorted(__all__)
