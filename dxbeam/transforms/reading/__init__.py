"""From a corpus to documents, pairs and counts."""
