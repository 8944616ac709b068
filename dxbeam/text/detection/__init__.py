"""Patterns such as e-mail addresses in a text -> typed placeholders, before words are noised."""
