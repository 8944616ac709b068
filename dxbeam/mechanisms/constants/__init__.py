"""The smallest epsilon that is true of one vocabulary, by a certified scan of all its pairs."""
