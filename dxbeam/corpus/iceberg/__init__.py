"""Tables of Apache Iceberg, by pyiceberg: read as a corpus, and made of a release."""
