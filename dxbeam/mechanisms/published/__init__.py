"""Mechanisms as published, which guarantee nothing; for comparison only."""
