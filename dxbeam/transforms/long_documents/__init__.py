"""Long documents, divided among workers."""
