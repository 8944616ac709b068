"""Corpora in and out: one file per format, which files and records there are, and their ids."""
