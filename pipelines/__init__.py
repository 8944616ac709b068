"""Launchers: each parses its options, assembles transforms and runs."""

import sys

if sys.argv[:1] == ["-m"]:  # so Python says while it looks for the launcher that is to be run
    from dxbeam import stopping

    stopping.watch()  # before Beam is imported, which takes seconds
