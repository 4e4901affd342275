"""The HTTP side: takes requests apart, runs the operation, and answers."""

from __future__ import annotations

import logging
import socket
import threading
import uuid
from dataclasses import dataclass
from datetime import timedelta
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase

from . import admin, routes
from .access import allow
from .errors import TosError
from .objects import now
from .service import Service
from .wire import CHUNK, Request, Response, address, decode_path, decode_query, http_date, split_target

log = logging.getLogger("tos_gateway")

# Seconds that a connection may be silent.
IDLE_MAX = 300


class RequestBody:
    """The body of a request on its connection."""

    def __init__(self, file: BufferedIOBase, length: int | None) -> None:
        self._file = file
        # What is left of the body, or of the chunk of a chunked one.
        self._left = length or 0
        self._is_chunked = length is None
        self._is_done = length == 0

    def read(self, size: int) -> bytes:
        if self._is_done:
            return b""
        if self._is_chunked and self._left == 0:
            self._next_chunk()
            if self._is_done:
                return b""
        piece = self._file.read(min(size, self._left))
        self._left -= len(piece)
        if self._is_chunked and self._left == 0 and piece:
            self._file.readline()
        if not piece or (not self._is_chunked and self._left == 0):
            self._is_done = True
        return piece

    def _next_chunk(self) -> None:
        line = self._file.readline(1024).split(b";")[0].strip()
        try:
            self._left = int(line, 16)
        except ValueError as failure:
            self._is_done = True
            raise TosError("InvalidArgument", "the chunks can't be read") from failure
        if self._left == 0:
            while self._file.readline(8192).strip():
                pass
            self._is_done = True

    def drain(self) -> None:
        """Takes the rest in, so that the next request of the connection can be read."""
        while self.read(CHUNK):
            pass


@dataclass
class Outcome:
    """What became of a request, for the log and the counters."""

    bucket: str = ""
    operation: str = ""
    received: int = 0
    sent: int = 0
    error: str | None = None


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "TosServer"
    sys_version = ""
    disable_nagle_algorithm = True
    timeout = IDLE_MAX
    server: GatewayServer

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError, socket.timeout):
            self.close_connection = True

    def do_any(self) -> None:
        request_id = uuid.uuid4().hex + "-" + uuid.uuid4().hex[:8]
        outcome = Outcome()
        body: RequestBody | None = None
        try:
            body = RequestBody(self.rfile, self._length())
            response = self._answer(body, outcome)
        except TosError as failure:
            outcome.error = failure.code
            response = self._refusal(failure, request_id)
        except Exception:
            log.exception("%s %s", self.command, self.path)
            outcome.error = "InternalError"
            response = self._refusal(TosError("InternalError"), request_id)
        try:
            if body is not None:
                body.drain()
            self._send(response, request_id, outcome)
        except TosError:
            self.close_connection = True
        finally:
            if outcome.bucket and outcome.operation:
                self.server.service.counters.add(outcome.bucket, outcome.operation, outcome.received, outcome.sent,
                                                 outcome.error)
            log.info("%s %s %s %d %s %s", outcome.operation or "-", self.command, self.path, response.status,
                     outcome.error or "", request_id)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_OPTIONS = do_any

    def _length(self) -> int | None:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            return None
        text = self.headers.get("content-length")
        if text is None:
            if self.command in ("PUT", "POST"):
                raise TosError("MissingContentLength")
            return 0
        if not text.isdecimal():
            self.close_connection = True
            raise TosError("InvalidArgument", "Content-Length is no number")
        return int(text)

    def _answer(self, body: RequestBody, outcome: Outcome) -> Response:
        # `self.path` has lost slashes of its beginning.
        host, raw_path, raw_query = split_target(self.requestline.split(" ")[1])
        headers = _fields(self.headers)
        path = decode_path(raw_path)
        if admin.is_admin(headers.get("host", ""), path):
            return admin.answer(self.server.service, self.server.proxies, self.command, path, body)
        bucket, key = address(host or headers.get("host", ""), path)
        request = Request(self.command, path, decode_query(raw_query), headers, body, self._length(), bucket, key)
        outcome.bucket = bucket
        try:
            found = routes.operation(request)
            outcome.operation = found.name
            self._authorize(request, found)
            return found.run(self.server.service, request)
        finally:
            outcome.received = request.received

    def _authorize(self, request: Request, found: routes.Operation) -> None:
        service = self.server.service
        key = service.keys.authenticate(request, service.buckets.clock_offset_of(request.bucket))
        acl = "private"
        if key is None and request.bucket:
            bucket = service.buckets.get(request.bucket)
            acl = bucket.acl
            if request.key and found.name in ("GetObject", "HeadObject"):
                record = service.objects.find(bucket.name, request.key)
                acl = record.acl if record is not None and record.acl != "default" else acl
        allow(key, found.name, found.reads, acl)

    def _refusal(self, failure: TosError, request_id: str) -> Response:
        headers = {"x-tos-ec": failure.ec} if failure.ec else {}
        if failure.status == 304:
            return Response(304, headers)
        return Response.of_json({
            "Code": failure.code, "RequestId": request_id, "HostId": self.headers.get("host", ""),
            "Message": failure.message, "Resource": self.path, "EC": failure.ec}, headers, failure.status)

    def _send(self, response: Response, request_id: str, outcome: Outcome) -> None:
        length = len(response.body) if response.length is None else response.length
        self.send_response_only(response.status)
        offset = self.server.service.buckets.clock_offset_of(outcome.bucket)
        date = http_date(now() + timedelta(seconds=offset))
        fields = {"server": self.server_version, "date": date, "x-tos-request-id": request_id,
                  "x-tos-id-2": request_id, **response.headers}
        if response.status not in (204, 304):
            fields["content-length"] = "0" if self.command == "HEAD" and outcome.error else str(length)
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        if response.pieces is None:
            self.wfile.write(response.body)
            return
        try:
            for piece in response.pieces:
                self.wfile.write(piece)
                outcome.sent += len(piece)
        except (ConnectionError, TimeoutError):
            raise
        except Exception as failure:
            # The head is out, so the client must see that the body is not whole.
            log.error("%s %s: the server behind broke off: %s", self.command, self.path, failure)
            self.close_connection = True
        if outcome.sent != length:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        log.debug(format, *args)


def _fields(headers: Message) -> dict[str, str]:
    """Header fields with lower-case names; the values of one that comes more than once are joined."""
    fields: dict[str, str] = {}
    for name, value in headers.items():
        name = name.lower()
        # The parser takes bytes for Latin-1.
        value = value.strip().encode("latin-1", "replace").decode("utf-8", "surrogateescape")
        fields[name] = fields[name] + "," + value if name in fields else value
    return fields


class GatewayServer(ThreadingHTTPServer):
    """A gateway that listens."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, service: Service, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.service = service
        self.url = "http://127.0.0.1:%d" % self.server_address[1]
        self.proxies = admin.Proxies(self.url)

    def start(self) -> None:
        """Serves in a thread of its own."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        self.proxies.close()
