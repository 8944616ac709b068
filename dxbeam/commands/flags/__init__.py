"""The flags of each command, and how they are written."""
