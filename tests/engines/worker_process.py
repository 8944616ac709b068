"""A Beam worker as a child of its TaskManager: what the boot program of Beam's images starts.

--environment_type=PROCESS --environment_config={"command": "SCRIPT THAT STARTS THIS"}
"""

from __future__ import annotations

import argparse

import grpc
from apache_beam.portability.api import beam_provision_api_pb2, beam_provision_api_pb2_grpc
from apache_beam.runners.worker.sdk_worker import SdkHarness


def main() -> None:
    """Asks where it is controlled from, and works until the TaskManager ends it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--id", required=True)
    parser.add_argument("--provision_endpoint", required=True)
    flags, _ = parser.parse_known_args()
    stub = beam_provision_api_pb2_grpc.ProvisionServiceStub(
        grpc.insecure_channel(flags.provision_endpoint)
    )
    request = beam_provision_api_pb2.GetProvisionInfoRequest()
    info = stub.GetProvisionInfo(request, metadata=[("worker_id", flags.id)], timeout=60).info
    SdkHarness(info.control_endpoint.url, worker_id=flags.id).run()


if __name__ == "__main__":
    main()
