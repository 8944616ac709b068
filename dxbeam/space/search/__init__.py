"""Which words are near a vector or a word, exactly."""
