"""What each sampler draws of known random numbers, by its SHA-256; see test_noise_rule.py."""

from __future__ import annotations

DIGESTS: dict[int, dict[str, str]] = {
    2: {
        "laplace": "793d2730e8d61f56",
        "mahalanobis": "0f69b57ecb081453",
        "vickrey": "eea5183ddb3cdf38",
        "santext": "859631cc421db238",
        "tem": "5145050da426fcfb",
        "fluent": "e844a21b1bd6c97c",
        "gaussian": "0c7da7f773fe3a15",
        "coordinate_laplace": "be86f9406da756bf",
        "trlaplace": "480dcd3c62b47295",
        "santext_plus": "1a62ba4fa2f555db",
        "trlaplace_published": "35356e7074929f5f",
        "truncated_gumbel": "396d848f5f5da3c2",
        "custext": "8d497a3120795c66",
        "cluster_response": "6c1b0999eb558079",
        "diffractor": "69611b5b6f50a173",
        "diffractor_tem": "41d5c38d16fac693",
        "custext_published": "43d4cd6c11fba40b",
        "tem_published": "af6f310ab8e53cc3",
        "mahalanobis_published": "f82d008102a434ba",
        "scaled_noise_published": "5838eaa2b3bb3338",
        "importance": "2d99edb252eb134d",
        "choice": "87f8cc940c2d6e7f",
        "tails": "d1040eb15911c50a",
        "ranks": "ba8b25c4cd878635",
        "bags": "527a40ec2133264f",
        "vectors word": "8a12bf3e74f2b4be",
        "vectors text": "ac84c4db49f63389",
        "vectors vector": "8c4233bf5f58f648",
    }
}
"""The digests of each rule; 1 was before samplers had tails without an end."""
