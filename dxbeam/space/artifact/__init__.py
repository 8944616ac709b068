"""The files of a vocabulary: written, checked, copied and opened."""
