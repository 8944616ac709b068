"""Tables that are made of a finished release."""
