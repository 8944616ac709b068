"""Exact nearest words by way of 8-bit integers, three times as fast as by way of float32.

Vectors and queries are rounded to 8-bit integers, whose product processors compute four times as
fast. Where that leaves a word an upper bound (below) that reaches the best word found so far, its
distance is computed in float64, and the nearest by (distance, id) is the answer. So the answer is
exact: rounding decides only how many distances are computed, about five a query.

The bound. With words and queries taken relative to the words' mean, the nearest word has the
largest score q.x - |x|^2 / 2. Let Q and X be the rounded q and x. By Cauchy and Schwarz

    q.x - |x|^2 / 2  <=  Q.X - |x|^2 / 2 + |q - Q| |X| + |q| |x - X|,

where Q.X is a product of integers, which no order of summation and no processor changes.

The product is onnxruntime's (``pip install 'dxbeam[fast]'``). Processors add pairs of 8-bit
products in 16 bits, unless they have instructions for more (VNNI on x86), and twice 255 * 127 is
too large for that. With queries of 7 bits, -63 … 63, and 64 added, no pair is: 2 * 127 * 127 is
less than 2^15. The words keep 8 bits, so the bound is a little wider, and the answer the same.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dxbeam.space.vocabulary import distances

Ids = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

QUERIES_A_TILE = 256
_WORDS_A_BLOCK = 2048  # measured: a tile's scores of a block stay in the cache
BITS = (8, 7)
"""How many a query's integers may have; the first that a processor multiplies exactly is best."""

_LARGEST_WORD = 127
_LARGEST_QUERY = {8: 127, 7: 63}  # stored with one more added, so that they are positive
_CANDIDATES_A_QUERY = 64  # with more, rounding decides too little to be worth it
_SHORTEST, _LONGEST = 1e-9, 1e9  # lengths whose squares float32 holds with room to spare
_FLOAT32_SLACK = 16 * 2.0**-24  # a handful of float32 roundings in scaling a score
_FLOAT64_SLACK = 1e-12


class Product(Protocol):
    """Multiplies queries and words."""

    def __call__(
        self,
        queries: npt.NDArray[np.uint8],
        zero: int,
        words: npt.NDArray[np.int8],
        query_scale: Any,
        word_scales: npt.NDArray[np.float32],
        bias: Floats,
        out: npt.NDArray[np.float32],
    ) -> None:
        """(queries - zero) [B, n] times words [n, N], times scales, plus a bias a word, to out."""
        ...


class IntegerSearch:
    """Nearest words of a vocabulary by integer products; holds a copy of it at a byte a number.

    Args:
      vectors: float32 [N, n], C order; may be a memory map.
      product: one that is exact for so many bits; see ``is_exact``.
      bits: of a query's integers, one of BITS.

    Raises:
      ArithmeticError: the vectors are too long or too short for float32 to hold their squares.
    """

    def __init__(self, vectors: npt.NDArray[np.float32], product: Product, bits: int):
        self._vectors = np.asarray(vectors)  # slicing a memory map itself is slow
        self._product, self._largest_query = product, _LARGEST_QUERY[bits]
        words = len(vectors)
        self._mean: Floats = vectors.mean(axis=0, dtype=np.float64)
        self._blocks: list[npt.NDArray[np.int8]] = []
        self._scales = np.empty(words, np.float32)
        half, rounded, residual = np.empty(words), np.empty(words), np.empty(words)
        for start in range(0, words, _WORDS_A_BLOCK):
            part = slice(start, start + _WORDS_A_BLOCK)
            centred = vectors[part] - self._mean
            integers, scales = _rounded(
                centred, np.abs(centred).max(axis=1, initial=0.0), _LARGEST_WORD
            )
            self._blocks.append(np.ascontiguousarray(integers.astype(np.int8).T))
            self._scales[part] = scales
            half[part] = np.square(centred).sum(axis=1) / 2
            back = integers * scales[:, None].astype(np.float64)
            rounded[part] = np.linalg.norm(back, axis=1)
            residual[part] = np.linalg.norm(centred - back, axis=1)
        if not _SHORTEST**2 < half.max() < _LONGEST**2:
            raise ArithmeticError("the squares of the vectors do not fit float32")
        self._half_squares, self._rounded_lengths, self._residuals = half, rounded, residual
        self._underflow_slack = 2.0**-24 * float(half.max())

    def nearest(self, queries: Floats, count: int) -> tuple[Ids, Floats] | None:
        """The words nearest to each query, by (float64 distance, id), and their distances.

        Args:
          queries: float64 [B, n].
          count: how many words a query, at most N.

        Returns:
          int64 and float64 [B, count]; None where rounding leaves so many candidates that another
          search is faster.
        """
        tile = _Tile(queries, self._mean, self._largest_query)
        if not tile.length < _LONGEST:
            return None
        rows = np.arange(len(queries))
        # Written in place, as new arrays of this size cost more in page faults than in work.
        scores = np.empty(len(queries) * _WORDS_A_BLOCK, np.float32)
        marks = np.empty(len(scores), np.bool_)
        best = np.full((len(queries), count), np.inf)
        found: list[tuple[Ids, Ids, Floats]] = []
        unsettled: list[tuple[Ids, Ids, npt.NDArray[np.float32]]] = []
        for number, block in enumerate(self._blocks):
            first = number * _WORDS_A_BLOCK
            upper = scores[: len(rows) * block.shape[1]].reshape(len(rows), -1)
            self._upper_bounds(tile, first, block, upper)
            hot, limits = rows, tile.limits(best[:, -1])
            reached = rows
            # The first block finds as many words as are asked for, the others improve on them.
            for turn in range(min(count, block.shape[1]) if number == 0 else 1):
                # Copying the rows that are hot pays off where they are few.
                few = 2 * len(hot) < len(rows)
                top = upper[hot].argmax(axis=1) if few else upper.argmax(axis=1)[hot]
                reaching = upper[hot, top] >= limits[hot]
                hot, top = hot[reaching], top[reaching]
                if turn == 0:
                    reached = hot  # no word reaches the limit of any other row
                exact = distances(self._vectors[first + top], queries[hot])
                found.append((hot, first + top, exact))
                upper[hot, top] = -np.inf  # done with
                best[hot] = np.sort(np.column_stack([best[hot], exact]), axis=1)[:, :count]
            limits = tile.limits(best[:, -1])
            rest = upper if len(reached) == len(rows) else upper[reached]
            reaches = np.greater_equal(
                rest, limits[reached, None], out=marks[: rest.size].reshape(rest.shape)
            )
            row, column = np.divmod(np.flatnonzero(reaches), block.shape[1])
            unsettled.append((reached[row], first + column, rest[row, column]))
            if sum(len(part[0]) for part in unsettled) > _CANDIDATES_A_QUERY * (len(rows) + 16):
                return None
        row, ids, bounds = (np.concatenate(parts) for parts in zip(*unsettled, strict=True))
        still = bounds >= limits[row]
        row, ids = row[still], ids[still]
        found.append((row, ids, distances(self._vectors[ids], queries[row])))
        return _first(found, count)

    def _upper_bounds(
        self,
        tile: _Tile,
        first: int,
        block: npt.NDArray[np.int8],
        out: npt.NDArray[np.float32],
    ) -> None:
        """Upper bounds of the scores of a block of words, float32 [B, words of the block]."""
        part = slice(first, first + block.shape[1])
        half, lengths = self._half_squares[part], self._rounded_lengths[part]
        bias = -half + tile.residual * lengths + tile.length * self._residuals[part]
        bias += _FLOAT32_SLACK * (half + (tile.length + tile.residual) * lengths)
        bias += self._underflow_slack
        self._product(tile.integers, tile.zero, block, tile.scale, self._scales[part], bias, out)


class _Tile:
    """Some queries, rounded together: one scale, and one bound on what rounding took away."""

    def __init__(self, queries: Floats, mean: Floats, largest: int):
        centred = queries - mean
        integers, scales = _rounded(centred, np.array([np.abs(centred).max(initial=0.0)]), largest)
        self.scale, self.zero = scales[0], largest + 1
        self.integers = (integers + self.zero).astype(np.uint8)
        self._squares = np.square(centred).sum(axis=1)
        self.length = float(np.sqrt(self._squares.max(initial=0.0)))
        rest = centred - integers * float(self.scale)
        self.residual = float(np.sqrt(np.square(rest).sum(axis=1).max(initial=0.0)))

    def limits(self, distances: Floats) -> npt.NDArray[np.float32]:
        """The score that a word at this distance has, a little less: float32 [B]."""
        squares = np.square(distances)
        limits = (self._squares - squares) / 2 - _FLOAT64_SLACK * (self._squares + squares)
        below: npt.NDArray[np.float32] = np.nextafter(
            limits.astype(np.float32), np.float32(-np.inf)
        )
        return below


def _rounded(vectors: Floats, span: Floats, largest: int) -> tuple[Floats, npt.NDArray[np.float32]]:
    """Integers -largest … largest as float64 [B, n], and what they are to be multiplied by."""
    scales = (span / largest).astype(np.float32)
    scales[scales == 0] = 1.0
    integers = np.rint(vectors / scales.astype(np.float64)[:, None])
    return np.clip(integers, -largest, largest, out=integers), scales


def _first(found: list[tuple[Ids, Ids, Floats]], count: int) -> tuple[Ids, Floats]:
    """The first ``count`` ids of each row by (distance, id), and their distances."""
    row, ids, exact = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.lexsort((ids, exact, row))
    starts = np.searchsorted(row[order], np.arange(row.max() + 1))
    chosen = order[starts[:, None] + np.arange(count)]
    return ids[chosen], exact[chosen]


def is_exact(product: Product, bits: int) -> bool:
    """Whether a product is exact for queries of so many bits, by an example that may saturate."""
    zero = _LARGEST_QUERY[bits] + 1
    most = 2 * zero - 1  # 255 or 127; the least is 0 or 1
    words = np.resize(np.array([127, -127, 127, 127, -1, 127, 127, 127], np.int8), (512, 64))
    queries = np.resize(np.array([most, 0, most, most, most - 1], np.uint8), (32, 512))
    found = np.empty((len(queries), words.shape[1]), np.float32)
    product(queries, zero, words, 1.0, np.ones(64, np.float32), np.zeros(64), found)
    return np.array_equal(found, (queries.astype(np.int64) - zero) @ words.astype(np.int64))


class OnnxProduct:
    """onnxruntime's.

    Raises:
      ImportError: onnxruntime or onnx is not installed.
    """

    def __init__(self) -> None:
        self._session = _session()

    def __call__(
        self,
        queries: npt.NDArray[np.uint8],
        zero: int,
        words: npt.NDArray[np.int8],
        query_scale: Any,
        word_scales: npt.NDArray[np.float32],
        bias: Floats,
        out: npt.NDArray[np.float32],
    ) -> None:
        """As ``Product`` says."""
        inputs = {
            "queries": queries,
            "words": words,
            "query_scale": np.asarray(query_scale, np.float32).reshape(()),
            "word_scales": word_scales,
            "query_zero": np.array(zero, np.uint8),
            "word_zero": np.array(0, np.int8),
            "bias": bias.astype(np.float32),
        }
        binding = self._session.io_binding()
        for name, array in inputs.items():
            binding.bind_cpu_input(name, array)
        # Written in place: a new array a call costs more in page faults than the copy.
        binding.bind_output("scores", "cpu", 0, np.float32, out.shape, out.ctypes.data)
        self._session.run_with_iobinding(binding)


def _session() -> Any:
    """A session for one operator: 8-bit product, scaled per word, plus a bias per word."""
    import onnxruntime
    from onnx import TensorProto, helper

    inputs = {
        "queries": (TensorProto.UINT8, ["B", "n"]),
        "words": (TensorProto.INT8, ["n", "N"]),
        "query_scale": (TensorProto.FLOAT, []),
        "word_scales": (TensorProto.FLOAT, ["N"]),
        "query_zero": (TensorProto.UINT8, []),
        "word_zero": (TensorProto.INT8, []),
        "bias": (TensorProto.FLOAT, ["N"]),
    }
    graph = helper.make_graph(
        [
            helper.make_node(
                "MatMulIntegerToFloat", list(inputs), ["scores"], domain="com.microsoft"
            )
        ],
        "scores",
        [helper.make_tensor_value_info(name, *kind) for name, kind in inputs.items()],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["B", "N"])],
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=versions, ir_version=8)
    options = onnxruntime.SessionOptions()
    # Threads are the caller's: each searches tiles of its own.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
