"""One file for each command of ``pipelines/``: what it is asked for, and what it says."""
