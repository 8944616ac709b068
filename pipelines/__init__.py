"""The commands of dxbeam, a file each: ``dxbeam NAME`` runs it, see dxbeam/__main__.py."""

import sys

if sys.argv[:1] == ["-m"]:  # so Python says while it looks for the launcher that is to be run
    from dxbeam import stopping

    stopping.watch()  # before Beam is imported, which takes seconds
