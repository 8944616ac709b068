"""A corpus against releases of it: scores, measured by Beam, and shown."""
