"""A Beam worker pool at one address, rather than at all of this machine's as Beam's own is.

python -m tests.engines.worker_pool 127.0.0.1:50000
"""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import grpc
from apache_beam.portability.api import beam_fn_api_pb2_grpc
from apache_beam.runners.worker.worker_pool_main import BeamFnExternalWorkerPoolServicer


def serve(address: str) -> None:
    """Starts a worker process whenever it is asked to, until it is killed."""
    server = grpc.server(ThreadPoolExecutor(8), options=[("grpc.so_reuseport", 0)])
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(
        BeamFnExternalWorkerPoolServicer(use_process=True), server
    )
    server.add_insecure_port(address)
    server.start()
    threading.Event().wait()


if __name__ == "__main__":
    serve(sys.argv[1])
