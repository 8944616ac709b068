"""Samplers and tables that mechanisms share."""
