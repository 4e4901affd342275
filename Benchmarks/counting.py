"""The tests' proxy for figures: it counts, may add a round trip, and lets large bodies pass through
the kernel, so that it is not what a reader waits for."""

import collections
import fcntl
import os
import time
from urllib.parse import parse_qs

from weather import Proxy

PIPE = 1 << 20
SMALL = 1 << 16


class Body:
    """A body that is still in the server's socket."""

    def __init__(self, source, length):
        self.source = source
        self.length = length


class CountingProxy(Proxy):
    """Every request, and every new connection, waits for one round trip first."""

    def __init__(self, upstream, round_trip=0.0):
        self.round_trip = round_trip
        super().__init__(upstream)
        self.rules = [{"delay": round_trip}]

    def add_rules(self, *rules):
        """Rules for some requests; those have the round trip too."""
        self.rules = [{**rule, "delay": self.round_trip} for rule in rules] + self.rules

    def _serve(self, client):
        time.sleep(self.round_trip)  # the handshake
        super()._serve(client)

    @staticmethod
    def _pieces(source, length):
        return Body(source, length) if length > SMALL else Proxy._pieces(source, length)

    def _send_body(self, client, entry, rule, pieces, length):
        if not isinstance(pieces, Body):
            return super()._send_body(client, entry, rule, pieces, length)
        # What came with the head is in the reader's buffer, the rest still in the socket.
        first = pieces.source.read1(min(length, 8192))
        client.sendall(first)
        entry["sent"] += len(first)
        outlet, inlet = os.pipe()
        try:
            fcntl.fcntl(inlet, fcntl.F_SETPIPE_SZ, PIPE)
            while entry["sent"] < length:
                count = os.splice(pieces.source.fileno(), inlet, min(PIPE, length - entry["sent"]))
                if count == 0:
                    return False
                while count > 0:
                    moved = os.splice(outlet, client.fileno(), count)
                    count -= moved
                    entry["sent"] += moved
        finally:
            os.close(outlet)
            os.close(inlet)
        return True


def kind(entry):
    """The name that S3 has for a request."""
    key = entry["path"].lstrip("/").partition("/")[2]
    query = parse_qs(entry["query"], keep_blank_values=True)
    if key:
        copies = "x-amz-copy-source" in entry["headers"]
        if "uploadId" in query:
            name = {"PUT": "UploadPartCopy" if copies else "UploadPart", "POST": "CompleteMultipartUpload"}
            return name.get(entry["method"], entry["method"].capitalize() + "Multipart")
        if "uploads" in query:
            return "CreateMultipartUpload"
        return "CopyObject" if copies else entry["method"].capitalize() + "Object"
    if entry["method"] == "POST" and "delete" in query:
        return "DeleteObjects"
    if entry["method"] == "GET" and not query.keys() & {"location", "versioning", "acl", "uploads"}:
        return "ListObjects"
    return entry["method"].capitalize() + "Bucket"


def counted(entries):
    """Requests by kind, most frequent first, and the body bytes that were sent to the client."""
    kinds = collections.Counter(kind(entry) for entry in entries)
    return dict(kinds.most_common()), sum(entry["sent"] for entry in entries)
