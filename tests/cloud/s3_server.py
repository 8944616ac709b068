"""S3 for tests: moto, which checks the signature of every request and knows one account."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BUCKET = "records"
_ALL = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}


@contextmanager
def running(log: Path) -> Iterator[dict[str, str]]:
    """Environment variables by which clients reach the server, with an account's credentials.

    Args:
      log: where the server logs all requests.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            env=os.environ | {"INITIAL_NO_AUTH_ACTION_COUNT": "3"},
            stdout=file,
            stderr=file,
        )
    try:
        yield _account(f"http://127.0.0.1:{port}")
    finally:
        process.kill()
        process.wait()


def _account(url: str) -> dict[str, str]:
    import boto3
    from botocore.exceptions import EndpointConnectionError

    nobody = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "us-east-1"}
    iam = boto3.client("iam", endpoint_url=url, **nobody)
    for _ in range(600):
        try:
            iam.create_user(UserName="dxbeam")
            break
        except EndpointConnectionError:
            time.sleep(0.1)
    key = iam.create_access_key(UserName="dxbeam")["AccessKey"]
    iam.put_user_policy(UserName="dxbeam", PolicyName="all", PolicyDocument=json.dumps(_ALL))
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def path(name: str) -> str:
    """The s3:// path of an object."""
    return f"s3://{BUCKET}/{name}"
