"""Parts of a document: its words in order, and long documents divided among workers."""
