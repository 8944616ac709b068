"""What can be computed of noise and of words without measuring anything."""
