"""What is released under a kept key stays the same, byte for byte, as long as the noise rule does.

A change of any digest here changes what a scheduled release repeats: it needs a new noise rule
(``dxbeam.mechanisms.sampling.noise.NOISE_RULE``), so that old and new releases never share noise.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipelines.release_vectors import release_vectors
from pipelines.sanitize import sanitize
from tests.support import tiny

MODES = {
    "laplace": ["--epsilon=5"],
    "laplace and ranks": ["--epsilon=5", "--rank_c=0.02"],
    "mahalanobis": ["--epsilon=5", "--mechanism=mahalanobis"],
    "vickrey": ["--epsilon=5", "--mechanism=vickrey"],
    "gaussian": ["--epsilon=5", "--mechanism=gaussian"],
    "coordinate_laplace": ["--epsilon=5", "--mechanism=coordinate_laplace"],
    "trlaplace": ["--epsilon=5", "--mechanism=trlaplace"],
    "trlaplace_published": ["--epsilon=0.1", "--mechanism=trlaplace_published", "--allow_unsound"],
    "santext": ["--epsilon=5", "--mechanism=santext"],
    "santext_plus": ["--epsilon=5", "--mechanism=santext_plus", "--allow_unsound"],
    "tem": ["--epsilon=5", "--mechanism=tem"],
    "truncated_gumbel": ["--epsilon=5", "--mechanism=truncated_gumbel", "--allow_unsound"],
    "bag": ["--epsilon=5", "--bag_of_words=10"],
    "bag without unknown words": ["--epsilon=5", "--bag_of_words=10", "--unknown_words=drop"],
    "drop": ["--epsilon=5", "--unknown_words=drop", "--allow_unsound"],
    "mask": ["--epsilon=5", "--unknown_words=mask", "--allow_unsound"],
    "keep": ["--epsilon=5", "--unknown_words=keep", "--allow_unsound"],
    "parquet": ["--epsilon=5", "--output_format=parquet", "--keep_fields=label"],
    "text": ["--epsilon=5", "--output_format=text"],
    "vectors of texts": ["--epsilon=5", "--projected_dimensions=3"],
    "vectors of words": [
        "--epsilon=5",
        "--unit=word",
        "--projection=gaussian",
        "--projected_dimensions=3",
    ],
}

GOLDEN: dict[str, str] = json.loads((Path(__file__).parent / "golden.json").read_text())


def digest_of_release(mode: str, folder: Path) -> str:
    """SHA-256 of what is in the shards, whose names differ from run to run."""
    key = folder / "key"
    key.write_text(tiny.KEY.hex())
    key.chmod(0o600)
    records = [
        {"id": f"d{number}", "text": text, "label": str(number % 3)}
        for number, text in enumerate(tiny.texts(30))
    ]
    corpus = tiny.write_jsonl(folder / "corpus.jsonl", records)
    output = folder / "release"
    flags = [
        f"--vocabulary={tiny.write_version_1(folder / 'vocabulary')}",
        f"--input={corpus}",
        f"--output={output}",
        f"--key_uri={key}",
        "--num_shards=3",
        *MODES[mode],
    ]
    (release_vectors if mode.startswith("vectors") else sanitize)(flags)
    contents = sorted(
        repr(pq.read_table(shard).to_pylist()).encode()
        if shard.suffix == ".parquet"
        else shard.read_bytes()
        for shard in output.glob("part-*")
    )
    return hashlib.sha256(repr(contents).encode()).hexdigest()


@pytest.mark.parametrize("mode", MODES)
def test_a_release_under_a_kept_key_is_what_it_was(mode: str, tmp_path: Path) -> None:
    assert digest_of_release(mode, tmp_path) == GOLDEN[mode]
