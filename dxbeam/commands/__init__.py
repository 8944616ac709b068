"""The command line: flags, checks and runs that all pipelines share."""
