"""An HTTP server that misbehaves on demand, for tests: the path of a request says how.

Raw TCP, so that answers can be wrong in ways an HTTP library would not let through. Prints
"ready HTTP_PORT HTTPS_PORT FULL_PORT CERTIFICATE" and then a line for each event that tests wait for; ends
when its standard input ends, so that it can't outlive the test that started it.
"""

import hashlib
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import parse_qs, unquote, unquote_to_bytes, urlsplit

# The pattern of every body: a block whose length is a prime, so that misplaced bytes show.
PERIOD = 65521
BLOCK = bytes((j * j * 31 + j * 7 + 3) % 251 for j in range(PERIOD))
LONG_BLOCK = BLOCK * 17

connection_count = 0
concurrent_count = 0
concurrent_max = 0
lock = threading.Lock()


def announce(*words):
    with lock:
        print(*words, flush=True)


def pattern(offset, count):
    """`count` bytes of the pattern from `offset`, in pieces."""
    while count > 0:
        start = offset % PERIOD
        piece = LONG_BLOCK[start : start + min(count, len(LONG_BLOCK) - start)]
        yield piece
        offset += len(piece)
        count -= len(piece)


class Request:
    def __init__(self, method, target, fields, head):
        self.method = method
        self.target = target
        self.fields = fields
        self.head = head
        parts = urlsplit(target)
        self.path = parts.path
        self.query = {name: values[-1] for name, values in parse_qs(parts.query).items()}

    def number(self, name, default=0):
        return int(self.query.get(name, default))


class Connection:
    def __init__(self, stream, number):
        self.stream = stream
        self.number = number
        self.request_count = 0
        self.buffer = b""

    # Reading

    def fill(self):
        piece = self.stream.recv(1 << 20)
        self.buffer += piece
        return len(piece) > 0

    def read_request(self):
        while b"\r\n\r\n" not in self.buffer:
            if not self.fill():
                return None
            if self.buffer[0] == 0x16:
                # The beginning of a TLS handshake.
                self.send(b"HTTP/1.1 400 Plain HTTP only\r\nContent-Length: 0\r\n\r\n")
                return None
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        fields = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            fields[name.lower()] = value.strip()
        self.request_count += 1
        return Request(method, target, fields, head)

    def read_body(self, request):
        """The size and the SHA-256 of the request's body."""
        size = int(request.fields.get("content-length", 0))
        digest = hashlib.sha256()
        rest = size
        while rest > 0:
            if not self.buffer and not self.fill():
                break
            piece, self.buffer = self.buffer[:rest], self.buffer[rest:]
            digest.update(piece)
            rest -= len(piece)
        return size - rest, digest.hexdigest()

    def wait_for_close(self):
        try:
            while self.fill():
                self.buffer = b""
        except OSError:
            pass

    # Answering

    def send(self, data):
        self.stream.sendall(data)

    def head(self, status, size, *fields):
        lines = ["HTTP/1.1 %d Weather" % status]
        if size is not None:
            lines.append("Content-Length: %d" % size)
        lines.append("X-Connection: %d" % self.number)
        lines.append("X-Request: %d" % self.request_count)
        lines += fields
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def answer(self, text, status=200):
        data = text.encode("latin-1")
        self.head(status, len(data))
        self.send(data)
        return True

    def reset(self):
        # Lingering for no time makes close() send RST.
        self.stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def end(self, how, request):
        """Ends an answer that is not whole; true to keep the connection."""
        if how == "keep":
            return True
        if how == "reset":
            return self.reset()
        if how == "freeze":
            threading.Event().wait()
        if how == "stall":
            announce("stalled", request.query.get("key", "-"))
            self.wait_for_close()
            announce("gone", request.query.get("key", "-"))
        return False


# The scripts: each returns true to keep the connection.


def bytes_script(connection, request):
    """`size` bytes of the pattern; `Range` is honoured; `delay` milliseconds of thought."""
    size = request.number("size", 1000)
    first, count, status, fields = 0, size, 200, []
    wanted = request.fields.get("range")
    if wanted:
        low, high = wanted.removeprefix("bytes=").split("-")
        first = int(low)
        last = min(int(high or size - 1), size - 1)
        count, status = last - first + 1, 206
        fields = ["Content-Range: bytes %d-%d/%d" % (first, last, size)]
    time.sleep(request.number("delay") / 1000)
    connection.head(status, count, 'ETag: "weather"', *fields)
    if request.method != "HEAD":
        for piece in pattern(first, count):
            connection.send(piece)
    return True


def broken_script(connection, request):
    """Announces `size` bytes, sends `after` of them, then does `then`: close, reset, stall."""
    connection.head(200, request.number("size", 1000))
    for piece in pattern(0, request.number("after")):
        connection.send(piece)
    return connection.end(request.query.get("then", "close"), request)


def dropping_script(connection, request):
    """An object of 100,000 bytes whose connection is reset after 30,000 bytes of each answer."""
    size = 100000
    low, high = request.fields.get("range", "bytes=0-").removeprefix("bytes=").split("-")
    first, last = int(low), int(high or size - 1)
    connection.head(
        206, last - first + 1, 'ETag: "weather"', "Content-Range: bytes %d-%d/%d" % (first, last, size)
    )
    for piece in pattern(first, min(last - first + 1, 30000)):
        connection.send(piece)
    if last - first + 1 <= 30000:
        return True
    # What has been sent must have been read, or the reset takes it along.
    time.sleep(0.05)
    return connection.reset()


def silent_script(connection, request):
    """Never answers; `then` says how the silence ends."""
    return connection.end(request.query.get("then", "stall"), request)


def longer_script(connection, request):
    """Announces `size` bytes and sends `excess` more, `late` milliseconds later."""
    size = request.number("size", 1000)
    excess = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL" * request.number("count", 1)
    body = b"".join(pattern(0, size))
    if "late" in request.query:
        connection.head(200, size)
        connection.send(body)
        time.sleep(request.number("late") / 1000)
        connection.send(excess)
        announce("late", request.query.get("key", "-"))
    else:
        connection.head(200, size)
        connection.send(body + excess)
    return True


def trickle_script(connection, request):
    """`size` bytes, one each `interval` milliseconds."""
    size = request.number("size", 10)
    connection.head(200, size)
    for piece in pattern(0, size):
        for index in range(len(piece)):
            time.sleep(request.number("interval", 20) / 1000)
            connection.send(piece[index : index + 1])
    return True


def raw_script(connection, request):
    """Sends the bytes in `data` as they are, then does `then`."""
    query = urlsplit(request.target).query
    data = next(value for name, _, value in (word.partition("=") for word in query.split("&")) if name == "data")
    connection.send(unquote_to_bytes(data))
    return connection.end(request.query.get("then", "close"), request)


def headers_script(connection, request):
    """`count` header fields of `size` bytes each."""
    value = "x" * request.number("size", 100)
    fields = ["X-Filler-%d: %s" % (index, value) for index in range(request.number("count", 10))]
    connection.head(200, 2, *fields)
    connection.send(b"ok")
    return True


def chunked_script(connection, request):
    """`size` bytes in chunks of 1 to 5,000 bytes, with a trailer; `then=close` omits the end."""
    connection.head(200, None, "Transfer-Encoding: chunked", "Trailer: X-Trailer")
    offset, size, step = 0, request.number("size", 100000), 1
    while offset < size:
        count = min(step, size - offset)
        data = b"".join(pattern(offset, count))
        connection.send(b"%x;note=1\r\n%s\r\n" % (count, data))
        offset, step = offset + count, step % 5000 + 37
    if "then" in request.query:
        return connection.end(request.query["then"], request)
    connection.send(b"0\r\nX-Trailer: late\r\n\r\n")
    return True


def continue_script(connection, request):
    """Interim answers before the final one."""
    connection.send(b"HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n")
    connection.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
    return connection.answer("final")


def status_script(connection, request):
    """The status `code` with a body that says so (none for HEAD, 204 and 304)."""
    code = request.number("code", 200)
    if request.method == "HEAD" or code in (204, 304):
        connection.head(code, None if code == 204 else 1234)
        return True
    return connection.answer("status %d" % code, code)


def echo_script(connection, request):
    """The request's head as it came."""
    connection.read_body(request)
    return connection.answer(request.head.decode("latin-1"))


def digest_script(connection, request):
    """Method, size and SHA-256 of the request's body."""
    size, digest = connection.read_body(request)
    return connection.answer("%s %d %s" % (request.method, size, digest))


def early_script(connection, request):
    """Answers before it has read the request's body, then reads a little of it and closes."""
    connection.answer("status 403", 403)
    connection.stream.shutdown(socket.SHUT_WR)
    connection.wait_for_close()
    return False


def flaky_script(connection, request):
    """Closes the connection instead of answering the second request on it."""
    if connection.request_count == 2:
        return False
    size, digest = connection.read_body(request)
    return connection.answer("%s %d %s" % (request.method, size, digest))


def busy_script(connection, request):
    """Answers after `delay` milliseconds with how many requests of this kind there were at once."""
    global concurrent_count, concurrent_max
    with lock:
        concurrent_count += 1
        concurrent_max = max(concurrent_max, concurrent_count)
    time.sleep(request.number("delay", 5) / 1000)
    with lock:
        concurrent_count -= 1
        most = concurrent_max
    return connection.answer("%d %s" % (most, request.query.get("key", "-")))


SCRIPTS = {
    "/bytes": bytes_script,
    "/broken": broken_script,
    "/dropping": dropping_script,
    "/silent": silent_script,
    "/longer": longer_script,
    "/trickle": trickle_script,
    "/raw": raw_script,
    "/headers": headers_script,
    "/chunked": chunked_script,
    "/continue": continue_script,
    "/status": status_script,
    "/digest": digest_script,
    "/early": early_script,
    "/flaky": flaky_script,
    "/busy": busy_script,
}


def relay(source, target):
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def tunnel(connection, request):
    """CONNECT: to this very server, whatever name is asked for; refused for `denied.invalid`."""
    host, port = request.target.rsplit(":", 1)
    announce("tunnel", request.target)
    if host.startswith("denied"):
        connection.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        return False
    with socket.create_connection(("127.0.0.1", int(port))) as target:
        connection.send(b"HTTP/1.1 200 Tunnel\r\nX-Proxy: 1\r\n\r\n")
        up = threading.Thread(target=relay, args=(connection.stream, target), daemon=True)
        up.start()
        relay(target, connection.stream)
        up.join()
    return False


def serve(stream, context):
    global connection_count
    with lock:
        connection_count += 1
        number = connection_count
    try:
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context:
            stream = context.wrap_socket(stream, server_side=True)
        connection = Connection(stream, number)
        while request := connection.read_request():
            if request.method == "CONNECT":
                keeps = tunnel(connection, request)
            elif "://" in request.target:
                keeps = connection.answer("proxied %s %s" % (request.method, request.target))
            else:
                keeps = SCRIPTS.get(request.path, echo_script)(connection, request)
            if not keeps:
                break
    except (OSError, ValueError):
        pass
    finally:
        stream.close()


def listen(context):
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)

    def accept():
        while True:
            stream, _ = listener.accept()
            threading.Thread(target=serve, args=(stream, context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def listen_full():
    """A port that takes no more connections: they hang without an answer."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    kept = [listener]
    for _ in range(4):
        stream = socket.socket()
        stream.setblocking(False)
        stream.connect_ex(listener.getsockname())
        kept.append(stream)
    return listener.getsockname()[1], kept


def make_certificate(directory):
    """A self-signed certificate for 127.0.0.1 and store.invalid, but not for localhost, with its key."""
    certificate, key = os.path.join(directory, "cert.pem"), os.path.join(directory, "key.pem")
    subprocess.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650".split()
        + ["-subj", "/CN=weather", "-addext", "subjectAltName=IP:127.0.0.1,DNS:store.invalid"]
        + ["-out", certificate, "-keyout", key],
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return certificate, context


def main():
    directory = tempfile.mkdtemp(prefix="weather-")
    try:
        certificate, context = make_certificate(directory)
        full_port, kept = listen_full()
        announce("ready", listen(None), listen(context), full_port, certificate)
        while sys.stdin.buffer.read(4096):
            pass
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    os._exit(0)


main()
