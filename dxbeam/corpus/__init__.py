"""Corpora in and out: which files, which records, which ids."""
