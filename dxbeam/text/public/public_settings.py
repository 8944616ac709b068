"""What flags tell a mechanism of words, all of it public: weights, base measure, constant."""

from __future__ import annotations

from typing import Any, NamedTuple

from dxbeam.errors import ConfigurationError
from dxbeam.mechanisms import check_public
from dxbeam.mechanisms.constants.exact_constant import CONSTANTS, EXACT, WORST_CASE
from dxbeam.mechanisms.parameters import checked_choice
from dxbeam.text.public.base_file import read_base
from dxbeam.text.public.constant_file import read_constant
from dxbeam.text.public.importance_file import read_importance


class PublicSettings(NamedTuple):
    """Flags of santext and tem.

    Attributes:
      importance: public weights of words, as ``read_importance`` takes it.
      base: public base measure, as ``read_base`` takes it.
      base_exponent: tau; None for 1.
      constant: worst_case or exact.
      constant_scan: the file of a scan, with ``exact`` only.
    """

    importance: str | None = None
    base: str | None = None
    base_exponent: float | None = None
    constant: str = WORST_CASE
    constant_scan: str | None = None

    def read(self, mechanism: str) -> dict[str, Any]:
        """The parameters of a mechanism; None for those that are not given.

        Args:
          mechanism: its name.

        Raises:
          ConfigurationError: a file cannot be read, or settings that do not go together.
        """
        if self.base_exponent is not None and not self.base:
            raise ConfigurationError("`base_exponent` is only of use with `base`; leave it out")
        meaning = "whether epsilon is that of any vocabulary, or of the one that was scanned"
        exact = checked_choice("`constant`", self.constant, CONSTANTS, meaning) == EXACT
        if exact:
            check_public(mechanism, "constant")
        if exact and not self.constant_scan:
            raise ConfigurationError(
                "`constant` exact needs `constant_scan`, the file that dxbeam scan-constant writes "
                "for this vocabulary and these settings; without it nobody knows the constant"
            )
        if self.constant_scan and not exact:
            raise ConfigurationError("`constant_scan` is only of use with `constant` exact")
        exponent = 1.0 if self.base_exponent is None else self.base_exponent
        return {
            "importance": read_importance(self.importance) if self.importance else None,
            "base": read_base(self.base, exponent) if self.base else None,
            "constant": read_constant(self.constant_scan) if self.constant_scan else None,
        }
