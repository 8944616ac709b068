"""Readers of embedding files, one file per format."""
