"""CopyObject, and what a copy names as its source."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from urllib.parse import unquote

from . import conditions, hierarchy
from .backend import Changed, Source
from .buckets import Bucket
from .errors import TosError
from .objects import Record
from .reading import Seen, see, version_of
from .receiving import record_of
from .service import Service
from .wire import Request, Response, check_key, decode_query, list_date, quoted

COPY_MAX = 5 << 30
SOURCE = "x-tos-copy-source"


def source_of(service: Service, request: Request) -> Seen:
    """The object that is to be copied, if it is there and as the conditions want it."""
    text = request.headers[SOURCE]
    path, _, query = text.partition("?")
    name, _, key = unquote(path, errors="surrogateescape").removeprefix("/").partition("/")
    if not name or not key:
        raise TosError("InvalidArgument", "x-tos-copy-source is not /BUCKET/KEY")
    bucket = service.buckets.get(name)
    version = version_of(bucket, dict(decode_query(query)).get("versionId"))
    seen = see(service, bucket, key, version)
    conditions.check_read(request.headers, seen.target, SOURCE + "-")
    if not seen.target.is_readable:
        raise TosError("InvalidObjectState")
    return seen


def copy_object(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    check_key(request.key)
    seen = source_of(service, request)
    if seen.target.size > COPY_MAX:
        raise TosError("InvalidArgument", "an object over 5 GiB can't be copied at once")
    record = _copied(request, seen)
    with service.changing((bucket, request.key)):
        if bucket.is_hierarchical:
            _check_tree(service, bucket, request.key, seen)
        before = service.objects.find(bucket.name, request.key)
        conditions.check_write(bucket, request.headers, before)
        if bucket.is_hierarchical:
            hierarchy.make_parents(service, bucket, request.key)
        if seen.is_directory:
            # The entry alone, nothing of what is below it.
            hierarchy.make(service, bucket, request.key)
            record = service.objects.get(bucket.name, hierarchy.directory_key(request.key))
        else:
            try:
                service.backend.copy(behind(seen), bucket.name, request.key, record.headers, record.meta)
            except Changed as failure:
                raise TosError("PreconditionFailed", "the source changed") from failure
            service.objects.written(bucket.name, request.key, record)
    return copied(seen, record.etag, record.last_modified, record.version)


def behind(seen: Seen) -> Source:
    """The source as the server behind knows it."""
    return Source(seen.bucket, seen.key, seen.target.etag, seen.target.version)


def copied(seen: Seen, etag: str, modified: datetime, version: str | None) -> Response:
    """The answer to a copy, of an object or of a part."""
    versions = {"x-tos-copy-source-version-id": seen.target.version, "x-tos-version-id": version}
    return Response.of_json({"ETag": quoted(etag), "LastModified": list_date(modified)},
                            {name: value for name, value in versions.items() if value is not None})


def _copied(request: Request, seen: Seen) -> Record:
    """What the copy will be: as the source is, or as the request says."""
    record = record_of(request)
    directive = request.headers.get("x-tos-metadata-directive", "COPY")
    if directive not in ("COPY", "REPLACE"):
        raise TosError("InvalidArgument", "x-tos-metadata-directive is not COPY or REPLACE")
    if directive == "COPY":
        record = dataclasses.replace(record, headers=dict(seen.target.headers), meta=dict(seen.target.meta))
    if request.headers.get("x-tos-tagging-directive", "COPY").upper() != "REPLACE":
        record = dataclasses.replace(record, tags=list(seen.target.tags))
    return dataclasses.replace(record, crc64=seen.target.crc64)


def _check_tree(service: Service, bucket: Bucket, key: str, seen: Seen) -> None:
    is_file = service.objects.find(bucket.name, key.removesuffix("/")) is not None
    is_directory = not is_file and hierarchy.directory(service, bucket, key) is not None
    if (seen.is_directory and is_file) or (not seen.is_directory and (is_directory or key.endswith("/"))):
        raise TosError("InvalidSourceOrDestinationResourceType")
