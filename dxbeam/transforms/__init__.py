"""Beam transforms: thin wrappers that batch, label and count what the rooms above compute."""
