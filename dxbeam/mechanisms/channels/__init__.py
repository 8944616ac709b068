"""What is known of an output given the word: P(z | x), and densities of noise."""
