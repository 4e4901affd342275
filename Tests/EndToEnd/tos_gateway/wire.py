"""Requests and answers as values, and how TOS writes dates, keys and JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import format_datetime, parsedate_to_datetime
from functools import cached_property
from typing import IO, Any, Protocol
from urllib.parse import quote_plus, unquote, unquote_plus

from .errors import TosError

# Bytes that are moved at once.
CHUNK = 256 << 10
# The longest JSON body that is read.
JSON_MAX = 4 << 20

# A host of the service: with the bucket before it, or alone. Volcengine, BytePlus, and what resolves to
# this machine.
SERVICE_HOST = re.compile(
    r"(?:(?P<bucket>[a-z0-9-]+)\.)?tos-(?P<region>[a-z0-9-]+)"
    r"\.(?:i?volces\.com|i?bytepluses\.com|localhost)")


class Body(Protocol):
    """The body of a request, to be read once."""

    def read(self, size: int) -> bytes: ...


@dataclass
class Request:
    """A request, taken apart."""

    method: str
    # Decoded; with the bucket in it where the client put it there.
    path: str
    query_pairs: list[tuple[str, str]]
    # Names in lower case.
    headers: dict[str, str]
    body: Body
    # None if the request is chunked.
    length: int | None
    bucket: str
    key: str
    # Of the body, counted where it is an object's; for the counters.
    received: int = 0

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(self.query_pairs)

    def has(self, name: str) -> bool:
        """Whether the query has this flag."""
        return name in self.query

    def flag(self, header: str) -> bool:
        """Whether a header says `true`."""
        return self.headers.get(header, "").lower() == "true"

    def number(self, name: str, default: int, low: int, high: int) -> int:
        """A number of the query, cut to a largest value."""
        text = self.query.get(name, "")
        if not text:
            return default
        if not re.fullmatch(r"\d{1,18}", text) or int(text) < low:
            raise TosError("InvalidArgument", "%s is no number from %d" % (name, low))
        return min(int(text), high)

    def json(self, *, needs_digest: bool = False) -> Any:
        """The body as JSON, checked against Content-MD5."""
        data = b""
        while piece := self.body.read(CHUNK):
            data += piece
            if len(data) > JSON_MAX:
                raise TosError("MalformedBody", "the body is too long")
        check_digest(self.headers, hashlib.md5(data).digest(), needs_digest)
        try:
            return json.loads(data)
        except ValueError as failure:
            raise TosError("MalformedBody", "the body is no JSON") from failure


def check_digest(headers: dict[str, str], digest: bytes, is_needed: bool = False) -> None:
    """Raises if the MD5 of a body isn't the one that Content-MD5 announces."""
    announced = headers.get("content-md5")
    if announced is None:
        if is_needed:
            raise TosError("InvalidDigest", "Content-MD5 is missing")
        return
    try:
        wanted = base64.b64decode(announced, validate=True)
    except ValueError as failure:
        raise TosError("InvalidDigest") from failure
    if len(wanted) != 16:
        raise TosError("InvalidDigest")
    if wanted != digest:
        raise TosError("BadDigest")


@dataclass
class Response:
    """An answer: a body in memory, or pieces of a known length."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    pieces: Iterator[bytes] | None = None
    # Of the pieces; for HEAD, of the body that isn't sent.
    length: int | None = None

    @classmethod
    def of_json(cls, value: Any, headers: dict[str, str] | None = None, status: int = 200) -> Response:
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogateescape")
        return cls(status, {"content-type": "application/json", **(headers or {})}, text)


def split_target(target: str) -> tuple[str | None, str, str]:
    """The host that a request target names (as a proxy gets it), its path, and its query."""
    host = None
    absolute = re.match(r"https?://([^/?]*)(.*)", target, re.IGNORECASE)
    if absolute:
        host, target = absolute[1], absolute[2] or "/"
    path, _, query = target.partition("?")
    return host, path or "/", query


def decode_path(path: str) -> str:
    return unquote(path, errors="surrogateescape")


def decode_query(query: str) -> list[tuple[str, str]]:
    """The pairs of a query; `+` means a space, as in a form."""
    pairs = (part.partition("=") for part in query.split("&") if part)
    return [(unquote_plus(name, errors="surrogateescape"), unquote_plus(value, errors="surrogateescape"))
            for name, _, value in pairs]


def address(host: str, path: str) -> tuple[str, str]:
    """The bucket and the key that host and path name.

    In front of the real service the bucket is in the host alone. A literal IP address has no room for
    it, so there it begins the path: that is how the vendor's Go SDK addresses one.
    """
    name = re.sub(r":\d+$", "", host).lower()
    service = SERVICE_HOST.fullmatch(name)
    if service and service["bucket"]:
        return service["bucket"], path.removeprefix("/")
    if service:
        if path != "/":
            raise TosError("InvalidPathAccess")
        return "", ""
    bucket, _, key = path.removeprefix("/").partition("/")
    return bucket, key


def check_key(key: str) -> None:
    """Raises if this can't be a key. Source: TOS, limits of object names."""
    try:
        size = len(key.encode())
    except UnicodeEncodeError as failure:
        raise TosError("InvalidKey", "a key is UTF-8") from failure
    if size > 1024:
        raise TosError("KeyTooLong")


def form_encode(text: str) -> str:
    """A key under `encoding-type=url`: a space is `+`."""
    return quote_plus(text, safe="-_.~")


def list_date(moment: datetime) -> str:
    """A date in JSON: to the millisecond."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + "%03dZ" % (moment.microsecond // 1000)


def http_date(moment: datetime) -> str:
    return format_datetime(moment.astimezone(timezone.utc).replace(microsecond=0), usegmt=True)


def parse_http_date(text: str) -> datetime:
    try:
        return parsedate_to_datetime(text).astimezone(timezone.utc)
    except (TypeError, ValueError) as failure:
        raise TosError("InvalidArgument", "this is no date: " + text) from failure


def bare(etag: str) -> str:
    """An ETag without quotes; requests may write it either way."""
    return etag.strip().removeprefix("W/").strip('"')


def quoted(etag: str) -> str:
    return '"%s"' % etag


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(CHUNK):
        yield piece
