"""Decoded text has the same bytes on processors with and without AVX-512.

NumPy and OpenBLAS choose their code by the processor, and both can be told to leave AVX-512 out.
Noise itself is drawn with NumPy's logarithm and cosine, which may differ in the last bit; noisy
vectors are rounded to a grid before they are read. A word is released differently where a
coordinate is within rounding of a cell's border, once in some 10^9 coordinates, or where two
posteriors are nearer than rounding, less than once in 10^10 words (decoder.py): of the 10,800 words
here, in two dozen dimensions, with a probability below 1e-3.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

_SCRIPT = """
import hashlib
import numpy as np
from dxbeam.documents import Document
from dxbeam.language.model import language_model_of
from dxbeam.mechanisms import make_mechanism
from dxbeam.text.configuration import Configuration
from dxbeam.text.decoding.decoder import Decoder
from dxbeam.text.sanitizer import Sanitizer
from tests.support import vocabularies

vocabulary = vocabularies.random_vocabulary(2000, 24)
generator = np.random.default_rng(1)
model = language_model_of(
    [(generator.zipf(1.3, 9) * 13) % 2001 - 1 for _ in range(2000)], vocabulary
)
ids = generator.integers(0, 2000, (30, 20))
documents = [Document(str(i), " ".join(vocabulary.words_of(row))) for i, row in enumerate(ids)]
for name, epsilon in (
    ("laplace", 3), ("mahalanobis", 3), ("gaussian", 4), ("trlaplace", 4), ("santext", 3),
    ("tem", 3),
):
    for kind, loss in (("prior", "word"), ("context", "word"), ("context", "distance")):
        settings = Configuration(make_mechanism(name, epsilon=epsilon), decoder=Decoder(kind, loss))
        made = Sanitizer(vocabulary, settings, bytes(32), model).sanitize(documents)
        released = "|".join(result.document.text for result in made)
        print(name, kind, loss, hashlib.sha256(released.encode()).hexdigest())
"""


def _released(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", _SCRIPT],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_same_bytes_without_avx_512() -> None:
    from numpy._core import _multiarray_umath as built

    wide = [name for name in built.__cpu_dispatch__ if name.startswith(("AVX512", "X86_V4"))]
    here = [name for name in wide if built.__cpu_features__.get(name)]
    if not here:
        pytest.skip(f"no AVX-512 on this processor that NumPy {np.__version__} would use")
    narrow = {"NPY_DISABLE_CPU_FEATURES": " ".join(here), "OPENBLAS_CORETYPE": "Haswell"}
    released = _released()
    assert len(released.splitlines()) == 18
    assert _released(**narrow) == released
