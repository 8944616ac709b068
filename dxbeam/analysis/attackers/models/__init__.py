"""Attackers that bring a model: one that they trained, one that a user names, or an endpoint."""
