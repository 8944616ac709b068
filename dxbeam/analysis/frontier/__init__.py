"""Utility against risk: computed, measured by Beam, and shown."""
