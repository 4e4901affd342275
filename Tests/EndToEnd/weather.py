"""An HTTP proxy with weather: it counts, delays, breaks and invents answers, as told by rules.

It runs in threads of the test's own process, so a test sets `proxy.rules` and reads `proxy.log`
directly. A rule is a dictionary; the first rule that matches a request acts on it:

  matching   method, path, query, headers: regular expressions searched in the request's text
             times: act only so often (the rule is then used up); skip: let so many pass first
  acting     delay: seconds before the request goes on
             status, body, headers: answer this instead of asking the server
             reset_after, truncate_after, stall_after: after so many body bytes, send a reset, close
             the connection, or go silent for `stall` seconds
             rate: body bytes per second
             reset_before, close_before: True resets or closes the connection instead of answering
             lose_answer: True lets the server do what is asked, and resets instead of answering
             raw: send these bytes, head and all, and close the connection
             rewrite: a function (status, headers, body) -> the same three, for small answers
             hole: True swallows the request and never answers
             virtual: pretend the object has so many bytes, each 8-byte word being its own index
"""

import re
import socket
import struct
import threading
import time
from urllib.parse import urlsplit


def words(offset, count):
    """Bytes `offset ..< offset + count` of the object whose 8-byte words count up."""
    first = offset // 8
    last = (offset + count + 7) // 8
    data = struct.pack("<%dQ" % (last - first), *range(first, last))
    return data[offset - first * 8 : offset - first * 8 + count]


# What may lie in the proxy's socket, sent and not yet taken: small, so that `sent` is what the client
# had to take, to within this much for each request that ends early.
SEND_BUFFER = 128 << 10


class Entry(dict):
    """One request in the log."""


class Proxy:
    def __init__(self, upstream):
        parts = urlsplit(upstream)
        self.upstream = (parts.hostname, parts.port)
        self.rules = []
        self.log = []
        self.lock = threading.Lock()
        self.stopped = threading.Event()
        self.offline = False
        self.sockets = set()
        self.server = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.server.getsockname()[1]
        self.url = "http://127.0.0.1:%d" % self.port
        threading.Thread(target=self._accept, daemon=True).start()

    # What tests use.

    def requests(self, method=None, key=None, since=0):
        """The logged requests, by method and by a substring of the path."""
        with self.lock:
            log = list(self.log[since:])
        return [
            r for r in log if (not method or r["method"] == method) and (not key or key in r["path"])
        ]

    def body_bytes(self, key=None, since=0):
        """Body bytes sent to the client for objects (GET with a key below the bucket)."""
        return sum(r["sent"] for r in self.requests("GET", key, since) if "list-type" not in r["query"])

    def wanted(self, key, since=0):
        """The byte ranges that were asked for, and for each how much of it was sent."""
        found = []
        for request in self.requests("GET", key, since):
            first, last = request["headers"]["range"].removeprefix("bytes=").split("-")
            found.append((int(first), int(last) + 1, request["sent"]))
        return sorted(found)

    def mark(self):
        """A position in the log."""
        with self.lock:
            return len(self.log)

    def go_offline(self):
        """Refuses and breaks every connection, as a dead network would."""
        self.offline = True
        with self.lock:
            broken = list(self.sockets)
        for connection in broken:
            self._reset(connection)

    def go_online(self):
        self.offline = False

    def close(self):
        self.stopped.set()
        try:
            self.server.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.server.close()
        with self.lock:
            left = list(self.sockets)
        for connection in left:
            self._reset(connection)

    # The machinery.

    def _accept(self):
        while not self.stopped.is_set():
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            if self.offline:
                self._reset(client)
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # Linux doubles it, for its own bookkeeping.
            client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
            with self.lock:
                self.sockets.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _reset(self, connection):
        try:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        try:
            connection.close()
        except OSError:
            pass

    def _serve(self, client):
        upstream = None
        reader = client.makefile("rb")
        try:
            while True:
                head = self._read_head(reader)
                if head is None:
                    return
                line, fields = head
                method, target, _ = line.split(" ", 2)
                length = int(fields.get("content-length", 0))
                if fields.get("expect"):
                    client.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = reader.read(length) if length else b""
                path, _, query = target.partition("?")
                entry = Entry(
                    method=method, path=path, query=query, headers=fields, received=len(body),
                    sent=0, status=None, time=time.monotonic(),
                )
                with self.lock:
                    self.log.append(entry)
                    rule = self._match(entry)
                if rule.get("delay"):
                    time.sleep(rule["delay"])
                if rule.get("hole"):
                    self.stopped.wait(rule.get("stall", 3600))
                    return
                if rule.get("reset_before"):
                    self._reset(client)
                    return
                if rule.get("close_before"):
                    return
                if "raw" in rule:
                    client.sendall(rule["raw"])
                    return
                if "virtual" in rule:
                    if not self._virtual(client, entry, rule):
                        return
                    continue
                if "status" in rule:
                    # A text of headers is what the request's are searched for.
                    fields = rule["headers"] if isinstance(rule.get("headers"), dict) else {}
                    self._answer(client, entry, rule["status"], fields, rule.get("body", b""))
                    continue
                if upstream is None:
                    upstream = socket.create_connection(self.upstream)
                    upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    source = upstream.makefile("rb")
                # The body is here, so that the server need not say that it wants it.
                lines = [line] + ["%s: %s" % (k, v) for k, v in fields.items() if k != "expect"]
                upstream.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
                if rule.get("lose_answer"):
                    self._read_head(source)
                    self._reset(client)
                    return
                if not self._relay(client, source, entry, rule):
                    return
        except (OSError, ValueError):
            pass
        finally:
            for connection in (upstream, client):
                if connection is not None:
                    try:
                        connection.close()
                    except OSError:
                        pass
            with self.lock:
                self.sockets.discard(client)

    def _match(self, entry):
        for rule in self.rules:
            if rule.get("times") == 0:
                continue
            texts = {"method": entry["method"], "path": entry["path"], "query": entry["query"],
                     "headers": "\n".join("%s: %s" % pair for pair in entry["headers"].items())}
            if not all(re.search(rule[k], texts[k]) for k in texts if k in rule and isinstance(rule[k], str)):
                continue
            if rule.get("skip", 0) > 0:
                rule["skip"] -= 1
                continue
            if "times" in rule:
                rule["times"] -= 1
            return rule
        return {}

    @staticmethod
    def _read_head(reader):
        line = reader.readline()
        if not line.strip():
            return None
        fields = {}
        while True:
            field = reader.readline()
            if field in (b"\r\n", b"\n", b""):
                break
            name, _, value = field.decode("latin-1").partition(":")
            fields[name.strip().lower()] = value.strip()
        return line.decode("latin-1").strip(), fields

    def _relay(self, client, source, entry, rule):
        head = self._read_head(source)
        if head is None:
            return False
        line, fields = head
        status = int(line.split(" ", 2)[1])
        entry["status"] = status
        chunked = "chunked" in fields.get("transfer-encoding", "")
        has_body = entry["method"] != "HEAD" and status not in (204, 304)
        length = int(fields.get("content-length", 0)) if has_body else 0
        if chunked or "rewrite" in rule:
            body = (self._read_chunks(source) if chunked else source.read(length)) if has_body else b""
            fields.pop("transfer-encoding", None)
            if "rewrite" in rule:
                status, fields, body = rule["rewrite"](status, fields, body)
                entry["status"] = status
            if has_body:
                fields["content-length"] = str(len(body))
            self._send_head(client, status, fields)
            return self._send_body(client, entry, rule, iter([body]), len(body))
        self._send_head(client, status, fields)
        return self._send_body(client, entry, rule, self._pieces(source, length), length)

    @staticmethod
    def _pieces(source, length):
        while length > 0:
            piece = source.read1(min(length, 262144))
            if not piece:
                return
            length -= len(piece)
            yield piece

    @staticmethod
    def _read_chunks(source):
        body = b""
        while True:
            size = int(source.readline().split(b";")[0], 16)
            body += source.read(size)
            source.readline()
            if size == 0:
                return body

    @staticmethod
    def _send_head(client, status, fields):
        lines = ["HTTP/1.1 %d -" % status] + ["%s: %s" % pair for pair in fields.items()]
        client.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n")

    def _answer(self, client, entry, status, fields, body):
        if isinstance(body, str):
            body = body.encode()
        entry["status"] = status
        self._send_head(client, status, {**fields, "content-length": str(len(body))})
        if entry["method"] != "HEAD":
            client.sendall(body)
            entry["sent"] += len(body)

    def _send_body(self, client, entry, rule, pieces, length):
        limit = min([rule[k] for k in ("reset_after", "truncate_after", "stall_after") if k in rule] or [None],
                    key=lambda x: x if x is not None else 1 << 62)
        for piece in pieces:
            if limit is not None and entry["sent"] + len(piece) > limit:
                piece = piece[: limit - entry["sent"]]
            if "rate" in rule:
                for start in range(0, len(piece), 16384):
                    client.sendall(piece[start : start + 16384])
                    entry["sent"] += len(piece[start : start + 16384])
                    time.sleep(16384 / rule["rate"])
            else:
                client.sendall(piece)
                entry["sent"] += len(piece)
            if limit is not None and entry["sent"] >= limit and entry["sent"] < length:
                if "stall_after" in rule:
                    self.stopped.wait(rule.get("stall", 3600))
                    return False
                if "reset_after" in rule:
                    entry["is_cut"] = True
                    self._reset(client)
                return False
        return True

    def _virtual(self, client, entry, rule):
        size = rule["virtual"]
        fields = {"etag": rule.get("etag", '"virtual"'), "last-modified": "Mon, 02 Nov 2026 08:00:00 GMT",
                  "accept-ranges": "bytes", "content-type": "application/octet-stream"}
        wanted = re.match(r"bytes=(\d+)-(\d*)", entry["headers"].get("range", ""))
        start, end = 0, size
        status = 200
        if wanted:
            start = int(wanted[1])
            end = min(size, int(wanted[2]) + 1 if wanted[2] else size)
            status = 206
            fields["content-range"] = "bytes %d-%d/%d" % (start, end - 1, size)
        fields["content-length"] = str(end - start)
        entry["status"] = status
        self._send_head(client, status, fields)
        if entry["method"] == "HEAD":
            return True
        pieces = (words(at, min(262144, end - at)) for at in range(start, end, 262144))
        return self._send_body(client, entry, {k: v for k, v in rule.items() if k != "virtual"}, pieces, end - start)
