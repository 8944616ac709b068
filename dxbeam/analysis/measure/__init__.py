"""What settings do to words: planned, measured by Beam, and shown."""
