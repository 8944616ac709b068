"""What mechanisms should release, written a second time from the papers."""
