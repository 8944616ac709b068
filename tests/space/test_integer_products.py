"""The ONNX model kept in the package, which spares a plain install the package onnx.

``python -m tests.space.test_integer_products`` writes it again.
"""

from __future__ import annotations

from typing import Any

import pytest

from dxbeam.space.integer_products import MODEL


def _model() -> Any:
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
    return helper.make_model(graph, opset_imports=versions, ir_version=8)


def test_the_model_in_the_package_is_the_one_that_onnx_builds() -> None:
    onnx = pytest.importorskip("onnx")
    kept = onnx.load_from_string(MODEL.read_bytes())
    onnx.checker.check_model(kept)
    assert kept == _model()


if __name__ == "__main__":
    MODEL.write_bytes(_model().SerializeToString(deterministic=True))
