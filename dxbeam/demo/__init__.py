"""The bundled vocabulary and sample corpus, and how they were made."""
