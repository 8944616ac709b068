"""Products of small integers by PyTorch, on a GPU where there is one: the extra "gpu".

Words and queries are integers from -127 to 127, multiplied as numbers of float32. Inputs of 7 bits
are exact in TF32, which a GPU's matrix units may shorten them to, and so are their products in
float32. Sums of 1,040 products are below 2^24 and exact in float32 too, in whatever order they are
added: 127 * 127 * 1,040 < 2^24. Longer ones are added up as integers, 1,040 terms at a time. So the
product is that of integers, and the bound of rounded_words.py holds as it stands.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.integer_products import Factors

MOST_TERMS = 1040
"""Of a sum in float32 that is exact."""


def gpu_is_there() -> bool:
    """Whether PyTorch is installed and sees an NVIDIA GPU.

    PyTorch takes seconds to load, so this asks for it and for the driver first.
    """
    if importlib.util.find_spec("torch") is None:
        return False
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    import torch

    return bool(torch.cuda.is_available())


def torch_product(device: str | None = None) -> TorchProduct | None:
    """The product on a device, by default a GPU where there is one; None without PyTorch."""
    try:
        return TorchProduct(device)
    except ImportError:
        return None


class TorchProduct:
    """The product of PyTorch (``pip install 'dxbeam[gpu]'``).

    Args:
      device: as PyTorch names it, such as "cpu" or "cuda:1"; by default a GPU where there is one.

    Raises:
      ImportError: PyTorch is not installed.
    """

    def __init__(self, device: str | None = None) -> None:
        import torch

        self.torch: Any = torch
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def __call__(self, factors: Factors, out: npt.NDArray[np.float32]) -> None:
        """As ``Product`` says."""
        scales = self.on_device(factors.word_scales * np.float32(factors.query_scale))
        queries = self.queries(factors.queries, factors.zero)
        scores = self.products(queries, self.words(factors.words))
        scores.mul_(scales).add_(self.on_device(factors.bias.astype(np.float32)))
        self.torch.from_numpy(out).copy_(scores)

    def on_device(self, array: npt.NDArray[Any]) -> Any:
        """A copy of an array as a tensor on the device."""
        return self.torch.tensor(array, device=self.device)

    def queries(self, queries: npt.NDArray[np.uint8], zero: int) -> Any:
        """Integers of queries, uint8 [B, n] with ``zero`` added, as a tensor of float32."""
        return self.on_device(queries).to(self.torch.float32).sub_(zero)

    def words(self, words: npt.NDArray[np.int8]) -> Any:
        """Integers of words, int8 [n, N], as a tensor of float32."""
        return self.on_device(words).to(self.torch.float32)

    def products(self, queries: Any, words: Any) -> Any:
        """What ``queries`` made times what ``words`` made: integers, rounded to float32 [B, N]."""
        with self._tf32():
            if len(words) <= MOST_TERMS:
                return queries @ words
            shape = (len(queries), words.shape[1])
            total = self.torch.zeros(shape, dtype=self.torch.int32, device=self.device)
            for start in range(0, len(words), MOST_TERMS):
                part = slice(start, start + MOST_TERMS)
                total += (queries[:, part] @ words[part]).to(self.torch.int32)
            return total.to(self.torch.float32)

    @contextlib.contextmanager
    def _tf32(self) -> Iterator[None]:
        """Lets the matrix units of a GPU shorten their inputs, which are exact even so."""
        before = self.torch.get_float32_matmul_precision()
        self.torch.set_float32_matmul_precision("high")
        try:
            yield
        finally:
            self.torch.set_float32_matmul_precision(before)
