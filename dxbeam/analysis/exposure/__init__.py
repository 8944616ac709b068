"""Who and what a release exposes: documents that are found again, and words that stay."""
