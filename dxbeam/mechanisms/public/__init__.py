"""What is public of words and enters a mechanism as a parameter."""
