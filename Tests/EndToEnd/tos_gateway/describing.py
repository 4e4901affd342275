"""What changes an object's facts and not its bytes: metadata, time, tags, access, links, restoring."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote, unquote

from . import conditions, hierarchy
from .buckets import Bucket
from .errors import TosError
from .listing import OWNER
from .objects import ARCHIVED, Record, Restoration, now
from .reading import version_of
from .receiving import ACLS, check_tags, description, record_of
from .service import Service
from .wire import Request, Response, check_key, http_date, quoted


def _object(service: Service, request: Request) -> tuple[Bucket, Record]:
    """The object that is named, and not one that it leads to."""
    bucket = service.buckets.get(request.bucket)
    version = version_of(bucket, request.query.get("versionId"))
    check_key(request.key)
    if bucket.is_hierarchical:
        found, is_directory = hierarchy.find(service, bucket, request.key)
        if found is None or is_directory:
            raise TosError("NoSuchKey")
        return bucket, found
    return bucket, service.objects.get(bucket.name, request.key, version)


def set_object_meta(service: Service, request: Request) -> Response:
    """Changes metadata in place: the object keeps its ETag and its time.

    Unless the request says REPLACE, what it doesn't mention stays. Source: TOS API reference,
    "SetObjectMeta", and the announcement of its change of 30 November 2025; before, REPLACE was the rule,
    and the older pages say so.
    """
    headers, meta = description(request)
    directive = request.headers.get("x-tos-metadata-directive", "REPLACE_NEW")
    if directive not in ("REPLACE", "REPLACE_NEW"):
        raise TosError("InvalidArgument", "x-tos-metadata-directive is not REPLACE or REPLACE_NEW")
    bucket = service.buckets.get(request.bucket)
    with service.changing((bucket, request.key)):
        _, record = _object(service, request)
        if not record.is_readable:
            raise TosError("InvalidObjectState")
        keeps = directive == "REPLACE_NEW"
        record.headers = {**(record.headers if keeps else {}), **headers}
        record.meta = {**(record.meta if keeps else {}), **meta}
    return Response()


def set_object_time(service: Service, request: Request) -> Response:
    """Sets the time of an object of a hierarchical bucket, to the nanosecond it says, here to microseconds."""
    bucket = service.buckets.get(request.bucket)
    if not bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    # The vendor's SDKs don't agree on the name.
    seconds, nanoseconds = (request.headers.get("x-tos-modify-timestamp" + end,
                                                request.headers.get("x-modify-timestamp" + end, default))
                            for end, default in (("", ""), ("-ns", "0")))
    if not seconds.isdecimal() or not nanoseconds.isdecimal() or int(nanoseconds) >= 10**9:
        raise TosError("InvalidArgument", "this is no time")
    with service.changing((bucket, request.key)):
        found, _ = hierarchy.find(service, bucket, request.key)
        if found is None:
            raise TosError("NoSuchKey")
        try:
            moment = datetime.fromtimestamp(int(seconds), timezone.utc)
        except (OverflowError, ValueError, OSError) as failure:
            raise TosError("InvalidArgument", "this is no time") from failure
        found.time_set = moment + timedelta(microseconds=int(nanoseconds) // 1000)
    return Response()


def put_object_tagging(service: Service, request: Request) -> Response:
    _, record = _object(service, request)
    wanted = request.json()
    try:
        tags = [(str(tag["Key"]), str(tag["Value"])) for tag in wanted["TagSet"]["Tags"]]
    except (KeyError, TypeError) as failure:
        raise TosError("MalformedBody") from failure
    record.tags = check_tags(tags)
    return Response()


def get_object_tagging(service: Service, request: Request) -> Response:
    _, record = _object(service, request)
    tags = [{"Key": name, "Value": value} for name, value in record.tags]
    return Response.of_json({"TagSet": {"Tags": tags}})


def delete_object_tagging(service: Service, request: Request) -> Response:
    _, record = _object(service, request)
    record.tags = []
    return Response(204)


def put_object_acl(service: Service, request: Request) -> Response:
    _, record = _object(service, request)
    acl = request.headers.get("x-tos-acl", "")
    if acl not in ACLS:
        raise TosError("InvalidArgument", "the gateway knows access lists by name alone, in x-tos-acl")
    record.acl = acl
    return Response()


def get_object_acl(service: Service, request: Request) -> Response:
    _, record = _object(service, request)
    grants: list[dict[str, Any]] = [
        {"Grantee": {"Type": "CanonicalUser", **OWNER}, "Permission": "FULL_CONTROL"}]
    for name, permission in (("public-read", "READ"), ("public-read-write", "WRITE")):
        if record.acl == "public-read-write" or record.acl == name:
            grants.append({"Grantee": {"Type": "Group", "Canned": "AllUsers"}, "Permission": permission})
    return Response.of_json({"Owner": OWNER, "Grants": grants, "IsDefault": record.acl == "default"})


def put_symlink(service: Service, request: Request) -> Response:
    """Makes a name that leads to another object, which need not be there."""
    bucket = service.buckets.get(request.bucket)
    if bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    check_key(request.key)
    target = unquote(request.headers.get("x-tos-symlink-target", ""), errors="surrogateescape")
    if not target:
        raise TosError("InvalidArgument", "x-tos-symlink-target is missing")
    check_key(target)
    record = record_of(request)
    record.type, record.crc64 = "Symlink", 0
    record.target = request.headers.get("x-tos-symlink-bucket") or bucket.name, target
    with service.changing((bucket, request.key)):
        conditions.check_write(bucket, request.headers, service.objects.find(bucket.name, request.key))
        service.backend.write(bucket.name, request.key, b"", record.headers, record.meta)
        service.objects.written(bucket.name, request.key, record)
    return Response()


def get_symlink(service: Service, request: Request) -> Response:
    bucket, record = _object(service, request)
    if bucket.is_hierarchical or record.target is None:
        raise TosError("MethodNotAllowed", "the object is no symlink")
    return Response(200, {
        "x-tos-symlink-target": quote(record.target[1], safe="/~"), "x-tos-symlink-bucket": record.target[0],
        "etag": quoted(record.etag), "last-modified": http_date(record.last_modified)})


def restore_object(service: Service, request: Request) -> Response:
    """Makes an archived object readable for some days, after a while that the test sets for the bucket."""
    bucket, record = _object(service, request)
    if bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    wanted = request.json()
    try:
        days = int(wanted["Days"])
        tier = str((wanted.get("RestoreJobParameters") or {}).get("Tier", "Standard"))
    except (KeyError, TypeError, ValueError, AttributeError) as failure:
        raise TosError("MalformedBody") from failure
    if days < 1 or tier not in ("Standard", "Expedited", "Bulk"):
        raise TosError("InvalidArgument", "Days is less than 1, or there is no such Tier")
    if record.storage_class not in ARCHIVED:
        raise TosError("InvalidObjectState", "the object is not archived")
    before = record.restoration
    if before is not None and before.is_ongoing:
        raise TosError("RestoreAlreadyInProgress")
    asked = now()
    done = before.done if before is not None else asked.timestamp() + bucket.restore_seconds
    record.restoration = Restoration(asked, done, days, tier)
    return Response(200 if before is not None else 202)
