"""Streams of messages: reading and writing Kafka, sanitizing, counting by window."""
