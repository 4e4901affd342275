"""Conditions on an object's version and ranges of it; pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .buckets import Bucket
from .errors import TosError
from .objects import Record
from .wire import bare, parse_http_date

WRITE_CONDITIONS = frozenset(["x-tos-forbid-overwrite", "x-tos-if-match", "if-match", "if-none-match"])


def check_read(headers: Mapping[str, str], record: Record, prefix: str = "") -> None:
    """Raises unless the conditions of a read hold; with a prefix, those on the source of a copy.

    Precedence as RFC 9110, section 13.2.2. A copy has no answer 304: it fails with 412.
    """
    unchanged = "PreconditionFailed" if prefix else "NotModified"
    modified = record.last_modified.replace(microsecond=0)
    if (wanted := headers.get(prefix + "if-match")) is not None:
        if not _matches(wanted, record.etag):
            raise TosError("PreconditionFailed")
    elif (date := headers.get(prefix + "if-unmodified-since")) and modified > parse_http_date(date):
        raise TosError("PreconditionFailed")
    if (unwanted := headers.get(prefix + "if-none-match")) is not None:
        if _matches(unwanted, record.etag):
            raise TosError(unchanged)
    elif (date := headers.get(prefix + "if-modified-since")) and modified <= parse_http_date(date):
        raise TosError(unchanged)


def are_any(headers: Mapping[str, str]) -> bool:
    """Whether a write has a condition, so that what it replaces has to be looked up."""
    return not WRITE_CONDITIONS.isdisjoint(headers)


def check_write(bucket: Bucket, headers: Mapping[str, str], record: Record | None, *,
                knows_http: bool = False) -> None:
    """Raises unless the conditions on what is being replaced hold.

    TOS's own conditions are for every write, but a bucket with versions doesn't mind forbid-overwrite.
    Those of HTTP are documented for PutObject alone, and OpenDAL sends them to CompleteMultipartUpload;
    another operation ignores them, as a server does that doesn't know them. Source: TOS API reference,
    "PutObject".
    """
    forbids = headers.get("x-tos-forbid-overwrite", "").lower() == "true" and not bucket.versioning
    if forbids and record is not None:
        raise TosError("DuplicateObject")
    wanted = [headers.get("x-tos-if-match"), headers.get("if-match") if knows_http else None]
    for etag in wanted:
        if etag is not None and (record is None or not _matches(etag, record.etag)):
            raise TosError("PreconditionFailed")
    unwanted = headers.get("if-none-match") if knows_http else None
    if unwanted is not None and record is not None and _matches(unwanted, record.etag):
        raise TosError("PreconditionFailed")


def _matches(wanted: str, etag: str) -> bool:
    return any(bare(one) in (etag, "*") for one in wanted.split(","))


def span(header: str | None, size: int) -> tuple[int, int] | None:
    """First byte and count of what a Range header asks for, or None for the whole object."""
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", (header or "").replace(" ", ""))
    if not found or not (found[1] or found[2]):
        return None
    if not found[1]:
        count = min(int(found[2]), size)
        first = size - count
    else:
        first = int(found[1])
        last = min(int(found[2] or size), size - 1)
        if found[2] and int(found[2]) < first:
            return None
        count = last - first + 1
    if count <= 0:
        raise TosError("Requested Range Not Satisfiable")
    return first, count


def exact_span(header: str, size: int) -> tuple[int, int]:
    """The range of a part copy, which must lie in the object."""
    found = re.fullmatch(r"bytes=(\d+)-(\d+)", header)
    if not found or int(found[2]) < int(found[1]):
        raise TosError("InvalidArgument", "x-tos-copy-source-range is not bytes=FIRST-LAST")
    if int(found[2]) >= size:
        raise TosError("InvalidArgument", "x-tos-copy-source-range ends behind the object")
    return int(found[1]), int(found[2]) - int(found[1]) + 1
