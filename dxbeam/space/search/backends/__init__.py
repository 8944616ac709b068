"""Ways to find the nearest word, one file each, and what they share."""
