"""Tables of BigQuery by their names, Google's clients for them, and refusals as sentences.

What Google's clients raise is never passed on: only its kind decides which sentence is said.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from dxbeam.errors import ConfigurationError, CorpusError, DxbeamError, OutputError

SCHEME = "bq://"

REST_EMULATOR, ROWS_EMULATOR = "BIGQUERY_EMULATOR_HOST", "BIGQUERY_STORAGE_EMULATOR_HOST"
"""Variables that name a server to ask instead of Google: Google's own one, and one for rows."""

SECONDS = 30.0
"""How long requests are repeated that are not answered."""

_NAME = re.compile(
    r"bq://((?:[a-z0-9.-]+:)?[a-z][-a-z0-9]{0,62})\.([A-Za-z0-9_]{1,1024})\.([\w -]{1,1024})"
)
_OF_CLIENTS = ("google.", "grpc.", "requests.", "urllib3.")
"""Where the errors of Google's clients are defined."""


@dataclass(frozen=True)
class Table:
    """The name of a table: project, dataset and table."""

    project: str
    dataset: str
    table: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.name}"

    @property
    def name(self) -> str:
        """As SQL and Google's clients have it."""
        return f"{self.project}.{self.dataset}.{self.table}"

    @property
    def path(self) -> str:
        """As the service that reads rows has it."""
        return f"projects/{self.project}/datasets/{self.dataset}/tables/{self.table}"


def is_table(place: str) -> bool:
    """Whether a place is one of BigQuery."""
    return place.startswith(SCHEME)


def table_of(parameter: str, place: str) -> Table:
    """The table that a place such as ``bq://project.dataset.table`` names.

    ``parameter`` names it in messages. ConfigurationError: it names none, or what reads and writes
    tables is not installed.
    """
    named = _NAME.fullmatch(place)
    if named is None:
        raise ConfigurationError(
            f"`{parameter}` {place}: this names no table of BigQuery; write "
            "bq://PROJECT.DATASET.TABLE"
        )
    if not _are_installed("google.cloud.bigquery", "google.cloud.bigquery_storage"):
        raise ConfigurationError(
            f"`{parameter}` {place}: bq:// needs Google's clients: pip install 'dxbeam[bigquery]'"
        )
    return Table(*named.groups())


def _are_installed(*modules: str) -> bool:
    return all(importlib.util.find_spec(module) is not None for module in modules)


def client(table: Table) -> Any:
    """A client that asks for tables and starts jobs, in the project that pays for them."""
    from google.cloud import bigquery

    credentials, project = _credentials(REST_EMULATOR)
    return bigquery.Client(project=project or table.project, credentials=credentials)


def reader() -> Any:
    """A client that reads rows."""
    return _reader(os.environ.get(ROWS_EMULATOR, ""))


def paying_project(table: Table) -> str:
    """The project that pays for reading a table: that of the credentials, or the table's own."""
    return _credentials(ROWS_EMULATOR)[1] or table.project


@functools.cache
def _reader(emulator: str) -> Any:
    from google.cloud import bigquery_storage

    if not emulator:
        return bigquery_storage.BigQueryReadClient(credentials=_credentials(ROWS_EMULATOR)[0])
    import grpc

    channel = grpc.insecure_channel(emulator, [("grpc.max_receive_message_length", -1)])
    transport = bigquery_storage.BigQueryReadClient.get_transport_class("grpc")(channel=channel)
    return bigquery_storage.BigQueryReadClient(transport=transport)


def _credentials(emulator: str) -> tuple[Any, str | None]:
    """Credentials and the project that they are of; nobody's for a server on this machine."""
    import google.auth
    from google.auth.credentials import AnonymousCredentials

    if os.environ.get(emulator):
        return AnonymousCredentials(), None
    credentials, project = google.auth.default(
        scopes=["https://www.googleapis.com/auth/cloud-platform"]
    )
    return credentials, project


def described(table: Table, refusal: type[DxbeamError] = CorpusError) -> Any:
    """BigQuery's ``google.cloud.bigquery.Table`` of a table: its schema, kind and size."""
    with refusals(table, refusal):
        from google.cloud.bigquery import DEFAULT_RETRY

        retry = DEFAULT_RETRY.with_timeout(SECONDS)
        return client(table).get_table(table.name, retry=retry, timeout=SECONDS)


@contextlib.contextmanager
def refusals(
    table: Table,
    refusal: type[DxbeamError] = OutputError,
    reasons: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[None]:
    """Around what asks BigQuery: errors of Google's clients become sentences, and ``refusal``.

    ``reasons`` are what some HTTP codes mean here, where that is not what they mean elsewhere.
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(_OF_CLIENTS):
            raise
        reason = reasons.get(getattr(error, "code", None) or 0) or _reason(error)
        raise refusal(f"{table}: {reason}") from None


def _reason(error: Exception) -> str:
    kind, code = type(error).__name__, getattr(error, "code", None)
    details = getattr(error, "errors", None) or [{}]
    first = details[0].get("reason", "") if isinstance(details[0], dict) else ""
    if type(error).__module__.startswith("google.auth.") or code == 401:
        return (
            "there are no Google credentials here that are accepted; log in with gcloud auth "
            "application-default login, or name a key file in GOOGLE_APPLICATION_CREDENTIALS"
        )
    if code == 404:
        return "there is no such dataset or table, or this account may not know of it"
    if code == 403 and first not in ("quotaExceeded", "rateLimitExceeded"):
        return (
            "this account may not do that; to read, it needs the roles bigquery.dataViewer and "
            "bigquery.readSessionUser; to write, bigquery.dataEditor and bigquery.jobUser"
        )
    if code == 400:
        return f"BigQuery refuses the request ({first or kind})"
    return f"BigQuery did not do what was asked ({first or kind}); try again later"
