"""Texts: their words, the settings of a release, and the Sanitizer, without Beam."""
