"""Releases of streams: what is written of each window, and what the ledger says."""
