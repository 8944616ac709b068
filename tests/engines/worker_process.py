"""A Beam worker as a child of its TaskManager: what the boot program of Beam's images starts.

--environment_type=PROCESS --environment_config={"command": "SCRIPT THAT STARTS THIS"}
"""

from __future__ import annotations

import argparse

from apache_beam.runners.worker.sdk_worker import SdkHarness


def main() -> None:
    """Works until the TaskManager ends it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--id", required=True)
    parser.add_argument("--control_endpoint", required=True)
    flags, _ = parser.parse_known_args()
    SdkHarness(flags.control_endpoint, worker_id=flags.id).run()


if __name__ == "__main__":
    main()
