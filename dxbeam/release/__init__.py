"""A release: its places, its claim, its manifest, its line of the ledger, and its plan."""
