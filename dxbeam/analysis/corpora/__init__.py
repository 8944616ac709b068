"""What is compared of whole corpora: counts of words, pairs, topics, and what is learnt of them."""
