"""A server of S3's protocol that checks what goes along with a body, in front of one that doesn't.

It computes each checksum by itself, bit by bit as the polynomial says, and refuses a body that isn't the
announced one as Amazon does. It can also know no checksums at all, and refuse their fields, as some stores
do.
"""

import base64
import hashlib
import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

CHECKSUM = "x-amz-checksum-"


def table(polynomial):
    entries = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ polynomial if byte & 1 else byte >> 1
        entries.append(byte)
    return entries


CRC32C = table(0x82F63B78)
CRC64NVME = table(0x9A6C9329AC4BC9B5)


def crc(entries, width, data):
    register = ones = (1 << 8 * width) - 1
    for byte in data:
        register = entries[(register ^ byte) & 0xFF] ^ register >> 8
    return (register ^ ones).to_bytes(width, "big")


DIGESTS = {
    "content-md5": lambda data: hashlib.md5(data).digest(),
    CHECKSUM + "crc32c": lambda data: crc(CRC32C, 4, data),
    CHECKSUM + "crc64nvme": lambda data: crc(CRC64NVME, 8, data),
}


class CheckingServer(ThreadingHTTPServer):
    """`seen` is (method, fields, name of the checked field or None) of each request with a body."""

    daemon_threads = True

    def __init__(self, upstream):
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = urlsplit(upstream).netloc
        self.url = "http://127.0.0.1:%d" % self.server_address[1]
        self.seen = []
        # So many of the next bodies lose their first byte on the way.
        self.damaged = 0
        # The answer to a field that it doesn't know: a status, or None if it knows them.
        self.refuses = None
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self):
        fields = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(fields.get("content-length", 0)))
        server = self.server
        strange = [name for name in fields if name.startswith(CHECKSUM)]
        checked = next((name for name in fields if name in DIGESTS), None)
        with server.lock:
            server.seen.append((self.command, fields, checked))
            is_damaged = server.damaged > 0 and self.command == "PUT" and bool(body)
            server.damaged -= is_damaged
        if server.refuses and strange:
            return self.refuse(server.refuses, "InvalidArgument", "this store knows no " + strange[0] + ", a checksum")
        if is_damaged:
            body = bytes([body[0] ^ 1]) + body[1:]
        if checked and base64.b64decode(fields[checked]) != DIGESTS[checked](body):
            return self.refuse(400, "BadDigest", "the body is not what " + checked + " says")
        connection = http.client.HTTPConnection(server.upstream, timeout=60)
        connection.request(self.command, self.path, body, {
            # The server behind may take the fields for something else.
            name: value for name, value in self.headers.items() if not name.lower().startswith(CHECKSUM)})
        answer = connection.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        if checked and checked.startswith(CHECKSUM) and answer.status == 200:
            self.send_header(checked, fields[checked])
        self.send_header("Content-Length", answer.getheader("Content-Length", "0") if self.command == "HEAD"
                         else str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        connection.close()

    def refuse(self, status, code, message):
        content = ("<Error><Code>%s</Code><Message>%s</Message></Error>" % (code, message)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = answer
