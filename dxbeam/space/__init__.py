"""The vocabulary: words, vectors, the search among them and their files; knows no privacy."""
