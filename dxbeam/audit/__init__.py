"""Statistical and exact tests of mechanisms and releases against what they promise."""
