"""The ONNX models kept in the package, which spares a plain install the package onnx.

``python -m tests.space.search.backends.test_integer_products`` writes them again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dxbeam.space.search.backends.integer_products import (
    MODEL,
    PACKED_MODEL,
    Factors,
    OnnxProduct,
    PackedWords,
    _initializer,
)


def _model(packed: bool) -> Any:
    """One operator: an 8-bit product, scaled for each word, plus a bias for each word."""
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
    constants = ("words", "word_zero") if packed else ()
    zero = [helper.make_tensor("word_zero", TensorProto.INT8, [], [0])] if packed else []
    graph = helper.make_graph(
        [
            helper.make_node(
                "MatMulIntegerToFloat", list(inputs), ["scores"], domain="com.microsoft"
            )
        ],
        "scores",
        [
            helper.make_tensor_value_info(name, *kind)
            for name, kind in inputs.items()
            if name not in constants
        ],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["B", "N"])],
        zero,
    )
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=versions, ir_version=8)


@pytest.mark.parametrize("packed", [False, True])
def test_a_model_in_the_package_is_the_one_that_onnx_builds(packed: bool) -> None:
    onnx = pytest.importorskip("onnx")
    kept = onnx.load_from_string((PACKED_MODEL if packed else MODEL).read_bytes())
    assert kept == _model(packed)


def test_appended_words_are_a_constant_of_the_model() -> None:
    onnx = pytest.importorskip("onnx")
    words = np.arange(-100, 100, dtype=np.int8).reshape(2, 100)
    whole = onnx.load_from_string(PACKED_MODEL.read_bytes() + _initializer("words", words))
    zero, constant = whole.graph.initializer
    assert (zero.name, constant.name) == ("word_zero", "words")
    assert np.array_equal(onnx.numpy_helper.to_array(constant), words)


@pytest.mark.parametrize("shape", [(1, 1, 1), (6, 50, 4097), (64, 300, 129)])
def test_packed_words_score_as_others_do(shape: tuple[int, int, int]) -> None:
    rows, dimensions, count = shape
    random = np.random.default_rng(0)
    words = random.integers(-127, 128, (dimensions, count)).astype(np.int8)
    queries = random.integers(1, 256, (rows, dimensions)).astype(np.uint8)
    scales, bias = random.random(count).astype(np.float32), random.random(count)
    expected = np.empty((rows, count), np.float32)
    factors = Factors(queries, 128, words, 0.01, scales, bias)
    OnnxProduct()(factors, expected)
    assert np.array_equal(PackedWords(words).scores(factors), expected)


if __name__ == "__main__":
    for path, is_packed in ((MODEL, False), (PACKED_MODEL, True)):
        path.write_bytes(_model(is_packed).SerializeToString(deterministic=True))
