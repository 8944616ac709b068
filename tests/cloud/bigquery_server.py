"""BigQuery for tests: a server of its REST interface and one of its Storage Read API.

No emulator of BigQuery could be had here, so these answer what Google's own clients ask, with
Google's own message classes. Rows come in an order that is drawn anew for each session, as BigQuery
promises none.
"""

from __future__ import annotations

import json
import random
import threading
import uuid
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import grpc
import pyarrow as pa
from google.cloud.bigquery_storage import types

from dxbeam import storage
from tests.cloud.bigquery_tables import DATASET, Refused, Tables, described, listed

_STATUS = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
}


class BigQuery(Tables):
    """Both servers.

    Attributes:
      requests: all that was asked of either, as bytes.
      uploads: resources of jobs whose file is still to come, by their numbers.
      sessions: how many sessions of reading began.
      resumed: how many streams were read on from the middle.
      unavailable: how many of the next requests of REST are answered with 503.
      lost: how many of the next jobs are begun, and then the connection dropped.
      broken: after how many blocks streams break off; each once.
      ended: whether sessions have ended.
      streams: how many streams a session has at most.
      block_rows: how many rows are sent at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.rest = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.rest.daemon_threads = True
        self._rows = grpc.server(futures.ThreadPoolExecutor(8))
        self._rows.add_generic_rpc_handlers((_Rows(self),))
        self._port = self._rows.add_insecure_port("127.0.0.1:0")
        self.reset()

    def reset(self) -> None:
        self.tables, self.jobs, self.forbidden, self.loaded = {}, {}, set(), 0
        self.requests: list[bytes] = []
        self.uploads: dict[str, dict[str, Any]] = {}
        self.unavailable = self.lost = self.sessions = self.resumed = 0
        self.broken: int | None = None
        self.ended = False
        self.streams, self.block_rows = 4, 500

    @property
    def variables(self) -> dict[str, str]:
        """By which clients reach the servers."""
        return {
            "BIGQUERY_EMULATOR_HOST": f"http://127.0.0.1:{self.rest.server_address[1]}",
            "BIGQUERY_STORAGE_EMULATOR_HOST": f"127.0.0.1:{self._port}",
        }

    def start(self) -> None:
        threading.Thread(target=self.rest.serve_forever, args=(0.01,), daemon=True).start()
        self._rows.start()

    def stop(self) -> None:
        self.rest.shutdown()
        self.rest.server_close()
        self._rows.stop(None).wait()

    def begin_job(self, resource: dict[str, Any], content: bytes | None = None) -> dict[str, Any]:
        """Runs a load job, whose id is new."""
        reference, load = resource["jobReference"], resource["configuration"]["load"]
        with self.lock:
            if reference["jobId"] in self.jobs:
                raise Refused(409, "duplicate")
            self.jobs[reference["jobId"]] = resource
        files = [storage.read(uri) for uri in load.get("sourceUris", [])]
        files += [] if content is None else [content]
        try:
            resource["statistics"] = {"load": {"outputRows": str(self.load(load, files))}}
            status: dict[str, Any] = {"state": "DONE"}
        except Refused as refused:
            error = {"reason": refused.reason, "message": "not loaded"}
            status = {"state": "DONE", "errorResult": error, "errors": [error]}
        return {**resource, "status": self.jobs[reference["jobId"]].setdefault("status", status)}


@contextmanager
def running() -> Iterator[BigQuery]:
    """The servers, for as long as the block runs."""
    server = BigQuery()
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _handler(server: BigQuery) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def _handle(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            server.requests.append(f"{self.command} {self.path}\n{self.headers}".encode() + body)
            if server.unavailable > 0:
                server.unavailable -= 1
                return self._answer(503, _error(503, "backendError"))
            try:
                answer = self._asked(body)
            except Refused as refused:
                return self._answer(refused.status, _error(refused.status, refused.reason))
            if self.command != "GET" and server.lost > 0:
                server.lost -= 1
                self.close_connection = True
                return self.connection.close()
            return self._answer(200, answer)

        do_GET = do_POST = do_PUT = _handle  # noqa: N815

        def _asked(self, body: bytes) -> dict[str, Any]:
            address = urlsplit(self.path)
            query = {name: value[0] for name, value in parse_qs(address.query).items()}
            match unquote(address.path).removeprefix("/upload").strip("/").split("/")[3:]:
                case [project, "datasets", dataset]:
                    if dataset != DATASET:
                        raise Refused(404, "notFound")
                    named = {"projectId": project, "datasetId": dataset}
                    return {"datasetReference": named, "location": "EU"}
                case [project, "datasets", dataset, "tables", table]:
                    name = f"{project}.{dataset}.{table}"
                    return described(name, server.table(name))
                case [project, "datasets", dataset, "tables", table, "data"]:
                    stored = server.table(f"{project}.{dataset}.{table}")
                    most = int(query.get("maxResults", 20_000))
                    return listed(stored, int(query.get("pageToken", 0)), most)
                case [_, "jobs"] if "upload_id" in query:
                    return server.begin_job(server.uploads[query["upload_id"]], body)
                case [_, "jobs"] if query.get("uploadType") == "resumable":
                    server.uploads[str(len(server.uploads))] = json.loads(body)
                    return {}
                case [_, "jobs"] if "uploadType" in query:
                    return server.begin_job(*_parts(self.headers["Content-Type"], body))
                case [_, "jobs"]:
                    return server.begin_job(json.loads(body))
                case [_, "jobs", job]:
                    if job not in server.jobs:
                        raise Refused(404, "notFound")
                    return server.jobs[job]
            raise Refused(400, "invalid")

        def _answer(self, status: int, answer: dict[str, Any]) -> None:
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            if "uploadType=resumable" in self.path:
                place = f"{self.path.partition('?')[0]}?upload_id={len(server.uploads) - 1}"
                self.send_header("Location", server.variables["BIGQUERY_EMULATOR_HOST"] + place)
            self.end_headers()
            self.wfile.write(content)

    return Handler


def _error(status: int, reason: str) -> dict[str, Any]:
    error = {"code": status, "message": reason, "errors": [{"reason": reason, "message": reason}]}
    return {"error": error}


def _parts(kind: str, body: bytes) -> tuple[dict[str, Any], bytes]:
    """The resource and the file of an upload in two parts."""
    message = BytesParser().parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
    resource, content = message.get_payload()
    boundary = message.get_boundary().encode()
    # As it is in the body: the parser of mails changes line ends.
    file = body.split(b"--" + boundary)[2].partition(b"\r\n\r\n")[2].removesuffix(b"\r\n")
    assert content is not None
    return json.loads(resource.get_payload()), file


class _Rows(grpc.GenericRpcHandler):
    """The Storage Read API."""

    def __init__(self, server: BigQuery):
        self._server = server
        self._streams: dict[str, pa.Table] = {}
        self._broken: set[str] = set()

    def service(self, call: Any) -> Any:
        match call.method.rpartition("/")[2]:
            case "CreateReadSession":
                return grpc.unary_unary_rpc_method_handler(
                    self._create,
                    types.CreateReadSessionRequest.deserialize,
                    types.ReadSession.serialize,
                )
            case "ReadRows":
                return grpc.unary_stream_rpc_method_handler(
                    self._read, types.ReadRowsRequest.deserialize, types.ReadRowsResponse.serialize
                )
        return None

    def _create(self, request: Any, context: Any) -> Any:
        server, session = self._server, request.read_session
        server.requests.append(types.CreateReadSessionRequest.serialize(request))
        _, project, _, dataset, _, table = session.table.split("/")
        try:
            stored = server.table(f"{project}.{dataset}.{table}")
            columns = list(session.read_options.selected_fields) or stored.rows.column_names
            if stored.kind == "VIEW" or not {*columns} <= {*stored.rows.column_names}:
                raise Refused(400, "invalid")
        except Refused as refused:
            context.abort(_STATUS[refused.status], refused.reason)
        assert session.data_format == types.DataFormat.ARROW
        server.sessions += 1
        rows = stored.rows.select([name for name in stored.rows.column_names if name in columns])
        rows = rows.take(random.sample(range(rows.num_rows), rows.num_rows))
        number = min(server.streams, request.max_stream_count or server.streams, rows.num_rows)
        name = f"{request.parent}/locations/eu/sessions/{uuid.uuid4().hex}"
        cuts = [rows.num_rows * each // number for each in range(number + 1)] if number else []
        names = [f"{name}/streams/{each}" for each in range(number)]
        for stream, start, stop in zip(names, cuts, cuts[1:], strict=False):
            self._streams[stream] = rows.slice(start, stop - start)
        return types.ReadSession(
            name=name,
            table=session.table,
            data_format=types.DataFormat.ARROW,
            arrow_schema=types.ArrowSchema(serialized_schema=_schema(rows)),
            streams=[types.ReadStream(name=each) for each in names],
        )

    def _read(self, request: Any, context: Any) -> Iterator[Any]:
        server, stream = self._server, request.read_stream
        server.requests.append(types.ReadRowsRequest.serialize(request))
        if server.ended or stream not in self._streams:
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "session expired")
        server.resumed += request.offset > 0
        rows = self._streams[stream].slice(request.offset)
        schema = {"arrow_schema": types.ArrowSchema(serialized_schema=_schema(rows))}
        for number, start in enumerate(range(0, rows.num_rows, server.block_rows)):
            if number == server.broken and stream not in self._broken:
                self._broken.add(stream)
                context.abort(grpc.StatusCode.UNAVAILABLE, "Socket closed")
            [block] = rows.slice(start, server.block_rows).combine_chunks().to_batches()
            batch = types.ArrowRecordBatch(serialized_record_batch=bytes(block.serialize()))
            yield types.ReadRowsResponse(
                arrow_record_batch=batch, row_count=block.num_rows, **schema
            )
            schema = {}


def _schema(rows: pa.Table) -> bytes:
    return bytes(rows.schema.serialize())
