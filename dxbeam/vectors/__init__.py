"""Vectors: their projection, its sensitivity, and the VectorReleaser, without Beam."""
