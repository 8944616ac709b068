"""Batteries of tests, one file for each kind of output."""
