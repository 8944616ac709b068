"""Lets Beam's --setup_file stage this package to remote workers; all settings: pyproject.toml."""

from setuptools import setup

setup()
