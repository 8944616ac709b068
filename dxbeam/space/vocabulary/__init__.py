"""Words, their ids and vectors, and public tables derived from them."""
