"""Which epsilon meets a target: measured by Beam, and shown."""
