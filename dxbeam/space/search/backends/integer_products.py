"""8-bit integer products, by onnxruntime, and whether this processor computes them exactly.

Processors add pairs of 8-bit products in 16 bits, unless they have instructions for more (VNNI on
x86), and twice 255 * 127 is too large for that. With queries of 7 bits, -63 … 63, and 64 added, no
pair is: 2 * 127 * 127 is less than 2^15.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from dxbeam.space.search.backends.backend import Floats

MODEL = Path(__file__).with_name("scores.onnx")
"""One operator as an ONNX model: a product, scaled for each word, plus a bias for each word. It is
kept as a file, so that the package onnx is not needed; a test builds it again and compares."""

PACKED_MODEL = MODEL.with_name("scores_of_packed_words.onnx")
"""The same, but the words are a constant, which is still to be appended."""

LARGEST_WORD = 127
"""The largest integer of a word's; the smallest is its negative."""

LARGEST_QUERY = {8: 127, 7: 63}
"""The largest integer of a query's of this many bits; one more is added to make all positive."""


_TRIED_SIZES = (32, 64), (33, 60), (70, 30), (1, 5)
"""Queries and words."""


class Factors(NamedTuple):
    """What is multiplied: (queries - zero) [B, n] times words [n, N], scaled, plus a bias.

    Attributes:
      queries: uint8 [B, n], with ``zero`` added.
      zero: what was added.
      words: int8 [n, N].
      query_scale: what every product is multiplied by.
      word_scales: float32 [N], what each word's products are multiplied by.
      bias: float64 [N], what is added to each word's.
    """

    queries: npt.NDArray[np.uint8]
    zero: int
    words: npt.NDArray[np.int8]
    query_scale: Any
    word_scales: npt.NDArray[np.float32]
    bias: Floats


class Product(Protocol):
    """Multiplies queries and words."""

    def __call__(self, factors: Factors, out: npt.NDArray[np.float32]) -> None:
        """The scaled products to out, float32 [B, N]."""
        ...


def is_exact(product: Product, bits: int, terms: int = 512) -> bool:
    """Whether a product is exact for queries of this many bits, by examples that may saturate.

    Libraries have been wrong in a partly filled tile only (onnxruntime 1.23 with AMX: the last of
    32 queries, where the number of words is no multiple of 16), so sizes around tiles are tried.
    Sums have up to 1,040 ``terms``, which float32, in which scores come out, holds.
    """
    return all(_is_exact(product, bits, terms, *size) for size in _TRIED_SIZES)


def _is_exact(product: Product, bits: int, terms: int, rows: int, columns: int) -> bool:
    zero = LARGEST_QUERY[bits] + 1
    most = 2 * zero - 1  # 255 or 127; the least is 0 or 1
    words = np.array([127, -127, 127, 127, -1, 127, 127, 127, 5], np.int8)
    words = np.resize(words, (terms, columns))
    queries = np.resize(np.array([most, 0, most, most, most - 1], np.uint8), (rows, terms))
    words[:, 0], queries[0] = LARGEST_WORD, most  # the largest sum there is
    scores = np.empty((rows, columns), np.float32)
    ones, zeros = np.ones(columns, np.float32), np.zeros(columns)
    product(Factors(queries, zero, words, 1.0, ones, zeros), scores)
    return np.array_equal(scores, (queries.astype(np.int64) - zero) @ words.astype(np.int64))


def onnx_product() -> Product | None:
    """The product of onnxruntime; None where it is not installed or does not load."""
    try:
        return OnnxProduct()
    except ImportError:
        return None


class OnnxProduct:
    """The product of onnxruntime.

    Raises:
      ImportError: onnxruntime is not installed, or cannot be loaded here.
    """

    def __init__(self) -> None:
        self._session = _session(MODEL.read_bytes())

    def __call__(self, factors: Factors, out: npt.NDArray[np.float32]) -> None:
        """As ``Product`` says."""
        inputs = {
            **_inputs(factors),
            "words": factors.words,
            "word_zero": np.array(0, np.int8),
        }
        binding = self._session.io_binding()
        for name, array in inputs.items():
            binding.bind_cpu_input(name, array)
        # Written in place: a new array per call costs more in page faults than the copy.
        binding.bind_output("scores", "cpu", 0, np.float32, out.shape, out.ctypes.data)
        self._session.run_with_iobinding(binding)


class PackedWords:
    """Words that onnxruntime has rearranged once as its kernels take them, a byte per number.

    It rearranges other words at every product, which for few queries takes most of the time.

    Args:
      words: int8 [n, N].

    Raises:
      ImportError: onnxruntime is not installed, or cannot be loaded here.
    """

    def __init__(self, words: npt.NDArray[np.int8]):
        self._session = _session(PACKED_MODEL.read_bytes() + _initializer("words", words))

    def scores(self, factors: Factors) -> npt.NDArray[np.float32]:
        """As ``Product`` says, float32 [B, N], with these words for those of the factors."""
        scores: npt.NDArray[np.float32] = self._session.run(["scores"], _inputs(factors))[0]
        return scores


def packing_product(factors: Factors, out: npt.NDArray[np.float32]) -> None:
    """A ``Product`` of words that are packed for it, so that ``is_exact`` can try it."""
    out[...] = PackedWords(factors.words).scores(factors)


def _inputs(factors: Factors) -> dict[str, Any]:
    """What both models take."""
    return {
        "queries": factors.queries,
        "query_scale": np.asarray(factors.query_scale, np.float32).reshape(()),
        "word_scales": factors.word_scales,
        "query_zero": np.array(factors.zero, np.uint8),
        "bias": factors.bias.astype(np.float32),
    }


def _session(model: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # The caller has separate threads, one for each tile of queries.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _initializer(name: str, tensor: npt.NDArray[np.int8]) -> bytes:
    """A constant of a model, as bytes to append to the model: protocol buffers add up so.

    The numbers of the fields are those of onnx.proto: ModelProto.graph, GraphProto.initializer, and
    of TensorProto dims, data_type (3 is INT8), name and raw_data.
    """
    dims = b"".join(b"\x08" + _varint(size) for size in tensor.shape)
    constant = dims + b"\x10\x03" + _field(8, name.encode()) + _field(9, tensor.tobytes())
    return _field(7, _field(5, constant))


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])
