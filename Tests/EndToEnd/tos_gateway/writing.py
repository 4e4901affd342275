"""PutObject, AppendObject, ModifyObject."""

from __future__ import annotations

import tempfile

from . import conditions, crc64, hierarchy
from .buckets import Bucket
from .errors import TosError
from .objects import Record
from .receiving import MEMORY_MAX, Received, receive, record_of, written_headers
from .service import Service
from .wire import Request, Response, check_key


def put_object(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    check_key(request.key)
    record = record_of(request)
    with receive(request) as body, service.changing((bucket, request.key)):
        if bucket.is_hierarchical:
            hierarchy.check_file(service, bucket, request.key, body.size)
        before = None
        if bucket.is_hierarchical or conditions.are_any(request.headers):
            before = service.objects.find(bucket.name, request.key)
        conditions.check_write(bucket, request.headers, before, knows_http=True)
        if bucket.is_hierarchical:
            hierarchy.make_parents(service, bucket, request.key)
            if request.key.endswith("/") and before is not None:
                return Response(200, written_headers(before))
        store(service, bucket, request.key, body, record)
    return Response(200, written_headers(record))


def store(service: Service, bucket: Bucket, key: str, body: Received, record: Record) -> None:
    """Gives a body to the server behind, and notes what it has no place for."""
    record.crc64 = body.crc64
    service.backend.write(bucket.name, key, body.file, record.headers, record.meta)
    service.objects.written(bucket.name, key, record)


def append_object(service: Service, request: Request) -> Response:
    """Makes an appendable object of a flat bucket, or adds to its end."""
    bucket = service.buckets.get(request.bucket)
    if bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    check_key(request.key)
    with receive(request) as body, service.changing((bucket, request.key)):
        before = service.objects.find(bucket.name, request.key)
        conditions.check_write(bucket, request.headers, before)
        if body.size == 0:
            raise TosError("InvalidArgument", "there is nothing to append")
        if before is None:
            before = record_of(request)
            before.type, before.crc64 = "Appendable", 0
        elif before.type != "Appendable":
            raise TosError("NotAppendable")
        size = _extend(service, bucket, request, body, before)
    return _extended(before, "x-tos-next-append-offset", size)


def modify_object(service: Service, request: Request) -> Response:
    """Adds to the end of an object of a hierarchical bucket; elsewhere in it nothing can be written."""
    bucket = service.buckets.get(request.bucket)
    if not bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    check_key(request.key)
    with receive(request) as body, service.changing((bucket, request.key)):
        before = service.objects.get(bucket.name, request.key)
        conditions.check_write(bucket, request.headers, before)
        size = _extend(service, bucket, request, body, before)
    return _extended(before, "x-tos-next-modify-offset", size)


def _extend(service: Service, bucket: Bucket, request: Request, body: Received, record: Record) -> int:
    """Writes the object anew with more at its end, as the server behind can't add; gives the new size."""
    offset = request.query.get("offset", "")
    if not offset.isdecimal():
        raise TosError("InvalidArgument", "offset is no number")
    if int(offset) != record.size:
        raise TosError("OffsetNotMatched")
    before = service.objects.checksum(bucket.name, request.key, record) if record.size else 0
    with tempfile.SpooledTemporaryFile(MEMORY_MAX) as whole:
        for piece in service.backend.read(bucket.name, request.key, record.etag, 0, record.size):
            whole.write(piece)
        while piece := body.file.read(MEMORY_MAX):
            whole.write(piece)
        whole.seek(0)
        size = record.size + body.size
        store(service, bucket, request.key,
              Received(whole, size, crc64.combined(before, body.crc64, body.size)), record)
    return size


def _extended(record: Record, header: str, size: int) -> Response:
    return Response(200, {header: str(size), **written_headers(record)})
