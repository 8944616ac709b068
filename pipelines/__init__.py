"""Launchers: each parses its options, assembles transforms and runs."""
