"""The bundled vocabulary, language model and sample corpus, and what make demo shows."""
