"""Whether a release is what was released, and what is checked."""
