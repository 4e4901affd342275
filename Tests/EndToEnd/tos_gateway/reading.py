"""HeadObject, GetObject and GetFileStatus."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from . import conditions, hierarchy
from .backend import Changed
from .buckets import Bucket
from .errors import TosError
from .objects import DEFAULT_TYPE, Record
from .service import Service
from .wire import Request, Response, check_key, http_date, list_date, quoted

# How often a link may lead to a link.
LINKS_MAX = 8
# How often a read starts again because the object was replaced meanwhile.
CHANGES_MAX = 50

OVERRIDES = ("content-type", "content-disposition", "content-encoding", "content-language", "cache-control",
             "expires")


@dataclass
class Seen:
    """What a key names, and the object whose bytes it gives: another one if it is a symlink."""

    record: Record
    bucket: str
    key: str
    target: Record
    is_directory: bool = False


def see(service: Service, bucket: Bucket, key: str, version: str | None = None) -> Seen:
    """Looks an object up and follows it if it is a link; raises NoSuchKey."""
    check_key(key)
    if bucket.is_hierarchical:
        found, is_directory = hierarchy.find(service, bucket, key)
        if found is None:
            raise TosError("NoSuchKey")
        return Seen(found, bucket.name, key, found, is_directory)
    record = target = service.objects.get(bucket.name, key, version)
    place = bucket.name, key
    for _ in range(LINKS_MAX):
        if target.target is None:
            return Seen(record, *place, target)
        place = target.target
        target = service.objects.get(*place)
    raise TosError("InvalidArgument", "the symlink leads to too many others")


def version_of(bucket: Bucket, version: str | None) -> str | None:
    """The version that is asked for; raises if the bucket has none."""
    if version is None or (version == "null" and not bucket.versioning and not bucket.is_hierarchical):
        return None
    if not bucket.versioning:
        raise TosError("InvalidVersionId")
    return version


def described(service: Service, seen: Seen) -> dict[str, str]:
    """The headers that tell about an object.

    Of a symlink: ETag, storage class and checksum are those of the object it leads to, the time is the
    later one, the rest is its own. Source: TOS API reference, "HeadObject".
    """
    record, target = seen.record, seen.target
    modified = max(record.last_modified, target.last_modified)
    headers = {
        "last-modified": http_date(modified),
        "x-tos-storage-class": target.storage_class,
        "accept-ranges": "bytes",
        "content-type": DEFAULT_TYPE,
        **record.headers,
        **{"x-tos-meta-" + name: value for name, value in record.meta.items()},
        **record.encryption,
    }
    if seen.is_directory:
        headers["x-tos-directory"] = "true"
    else:
        headers["etag"] = quoted(target.etag)
        headers["x-tos-hash-crc64ecma"] = str(service.objects.checksum(seen.bucket, seen.key, target))
    if record.time_set is not None:
        headers["x-tos-last-modified-ns"] = str(record.time_set.microsecond * 1000)
    if record.version is not None:
        headers["x-tos-version-id"] = record.version
    if record.type != "Normal":
        headers["x-tos-object-type"] = record.type
    if record.target is not None:
        headers["x-tos-symlink-target-size"] = str(target.size)
    if record.tags:
        headers["x-tos-tagging-count"] = str(len(record.tags))
    return {**headers, **_restoration(target)}


def _restoration(record: Record) -> dict[str, str]:
    restoration = record.restoration
    if restoration is None:
        return {}
    if not restoration.is_ongoing:
        ends = http_date(restoration.ends)
        return {"x-tos-restore": 'ongoing-request="false", expiry-date="%s"' % ends}
    return {"x-tos-restore": 'ongoing-request="true"',
            "x-tos-restore-request-date": http_date(restoration.asked),
            "x-tos-restore-expiry-days": str(restoration.days), "x-tos-restore-tier": restoration.tier}


def head_object(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    with service.steady(bucket):
        seen = see(service, bucket, request.key, version_of(bucket, request.query.get("versionId")))
    conditions.check_read(request.headers, seen.target)
    # A link has a length of its own: that of the name it leads to.
    length = seen.record.size if seen.record.target is None else len(seen.record.target[1].encode())
    return Response(200, described(service, seen), length=length)


def get_object(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    for attempt in itertools.count(1):
        try:
            with service.steady(bucket):
                return _read(service, bucket, request)
        except Changed as failure:
            if attempt == CHANGES_MAX:
                raise TosError("ServiceUnavailable", "the object changes all the time") from failure
    raise AssertionError("unreachable")


def _read(service: Service, bucket: Bucket, request: Request) -> Response:
    seen = see(service, bucket, request.key, version_of(bucket, request.query.get("versionId")))
    target = seen.target
    conditions.check_read(request.headers, target)
    if not target.is_readable:
        raise TosError("InvalidObjectState")
    span = conditions.span(request.headers.get("range"), target.size)
    first, size = span or (0, target.size)
    pieces = service.backend.read(seen.bucket, seen.key, target.etag, first, size, target.version)
    headers = described(service, seen)
    for name in OVERRIDES:
        if request.query.get("response-" + name):
            headers[name] = request.query["response-" + name]
    if span is None:
        return Response(200, headers, pieces=pieces, length=size)
    headers["content-range"] = "bytes %d-%d/%d" % (first, first + size - 1, target.size)
    return Response(206, headers, pieces=pieces, length=size)


def get_file_status(service: Service, request: Request) -> Response:
    """Says whether a name of a flat bucket is a file or a directory: then the first key in it is told."""
    bucket = service.buckets.get(request.bucket)
    if bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    check_key(request.key)
    key = request.key
    record = service.objects.find(bucket.name, key)
    if record is None:
        found = service.backend.page(bucket.name, hierarchy.directory_key(key), "", 1).found
        if not found:
            raise TosError("NoSuchKey")
        key = found[0].key
        record = service.objects.get(bucket.name, key)
    return Response.of_json({
        "Key": key, "Size": record.size, "LastModified": list_date(record.last_modified),
        "CRC32": "", "CRC64": str(service.objects.checksum(bucket.name, key, record)),
        "ETag": quoted(record.etag), "Type": record.type})
