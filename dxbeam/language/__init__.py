"""Public n-gram language models: counts, smoothing, files. Knows nothing of privacy."""
