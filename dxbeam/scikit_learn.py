"""The Sanitizer in the shape of scikit-learn: ``from dxbeam.scikit_learn import TextSanitizer``.

It needs scikit-learn, which is in the extra ``evaluate``.
"""

from __future__ import annotations

from dxbeam.text.adapters.scikit_learn import TextSanitizer

__all__ = ["TextSanitizer"]
