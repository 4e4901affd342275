"""Listings of objects, second and first version, and of buckets."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from . import hierarchy
from .backend import Found, Page
from .buckets import Bucket
from .errors import TosError
from .objects import DEFAULT_TYPE
from .service import Service
from .wire import Request, Response, form_encode, list_date, quoted

# The most entries of a page.
KEYS_MAX = 1000
# Begins a token, so that it has every character that has to be percent-encoded.
TOKEN_MARK = b"\xfb\xef\xbf"
OWNER = {"ID": "2100000001", "DisplayName": "test"}


def _token(behind: str | None, is_empty_page_done: bool) -> str:
    return base64.b64encode(TOKEN_MARK + json.dumps([behind, is_empty_page_done]).encode()).decode()


def _read_token(token: str) -> tuple[str | None, bool]:
    try:
        data = base64.b64decode(token, validate=True)
        if not data.startswith(TOKEN_MARK):
            raise ValueError
        behind, is_empty_page_done = json.loads(data[len(TOKEN_MARK):])
    except ValueError as failure:
        raise TosError("InvalidArgument", "this is no continuation token") from failure
    return behind, is_empty_page_done


def _encoder(request: Request) -> Callable[[str], str]:
    kind = request.query.get("encoding-type", "")
    if kind not in ("", "url"):
        raise TosError("InvalidArgument", "encoding-type is not url")
    return form_encode if kind else str


def _check(bucket: Bucket, request: Request) -> None:
    delimiter = request.query.get("delimiter", "")
    if not bucket.is_hierarchical:
        return
    if delimiter not in ("", "/"):
        raise TosError("InvalidDelimiter")
    if request.query.get("fetch-meta") and not delimiter:
        raise TosError("InvalidArgument", "a hierarchical bucket has metadata in a listing by directory alone")


def _entries(service: Service, bucket: Bucket, request: Request, page: Page) -> dict[str, Any]:
    """What both versions of a listing have in common."""
    encode = _encoder(request)
    prefix, delimiter = request.query.get("prefix", ""), request.query.get("delimiter", "")
    # The directory that is listed is no entry of itself; in a flat bucket it is an object like any.
    found = [one for one in page.found if not (bucket.is_hierarchical and delimiter and one.key == prefix)]
    answer: dict[str, Any] = {"Name": bucket.name, "Prefix": encode(prefix)}
    if delimiter:
        answer["Delimiter"] = encode(delimiter)
    if request.query.get("encoding-type"):
        answer["EncodingType"] = "url"
    contents = [_entry(service, bucket, one, encode, request) for one in _sorted(found)]
    prefixes: list[dict[str, str]] = [
        _prefix(service, bucket, one, encode) for one in sorted(page.prefixes, key=str.encode)]
    if contents:
        answer["Contents"] = contents
    if prefixes:
        answer["CommonPrefixes"] = prefixes
    return answer


def _sorted(found: list[Found]) -> list[Found]:
    return sorted(found, key=lambda one: one.key.encode())


def _prefix(service: Service, bucket: Bucket, prefix: str, encode: Callable[[str], str]) -> dict[str, str]:
    entry = {"Prefix": encode(prefix)}
    if bucket.is_hierarchical and (record := hierarchy.directory(service, bucket, prefix)) is not None:
        entry["LastModified"] = list_date(record.last_modified)
    return entry


def _entry(service: Service, bucket: Bucket, found: Found, encode: Callable[[str], str],
           request: Request) -> dict[str, Any]:
    record = service.objects.known(bucket.name, found)
    entry: dict[str, Any] = {
        "Key": encode(found.key), "LastModified": list_date(found.modified), "ETag": quoted(found.etag),
        "Size": found.size, "StorageClass": "STANDARD", "Type": "Normal"}
    if record is not None:
        entry |= {"StorageClass": record.storage_class, "Type": record.type}
        if record.time_set is not None:
            entry["LastModified"] = list_date(record.time_set)
        if record.crc64 is not None:
            entry["HashCrc64ecma"] = str(record.crc64)
    if request.query.get("fetch-owner") == "true":
        entry["Owner"] = OWNER
    if request.query.get("fetch-meta", "").lower() == "true":
        record = record or service.objects.get(bucket.name, found.key)
        entry["UserMeta"] = [{"Key": name, "Value": value} for name, value in record.meta.items()]
        entry["ContentType"] = record.headers.get("content-type", DEFAULT_TYPE)
    return entry


def list_objects_type2(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    _check(bucket, request)
    wanted = request.number("max-keys", KEYS_MAX, 1, KEYS_MAX)
    token = request.query.get("continuation-token")
    with service.steady(bucket):
        page, next_token = _page(service, bucket, request, wanted, token)
        answer = _entries(service, bucket, request, page)
    answer |= {"MaxKeys": wanted, "IsTruncated": next_token is not None,
               "KeyCount": len(answer.get("Contents", [])) + len(answer.get("CommonPrefixes", []))}
    if next_token is not None:
        answer["NextContinuationToken"] = next_token
    if token:
        answer["ContinuationToken"] = token
    if "start-after" in request.query:
        answer["StartAfter"] = _encoder(request)(request.query["start-after"])
    return Response.of_json(answer)


def _page(service: Service, bucket: Bucket, request: Request, wanted: int,
          token: str | None) -> tuple[Page, str | None]:
    """A page, perhaps an empty one, and the token of the next."""
    behind, is_empty_page_done = _read_token(token) if token else (None, False)
    if bucket.empty_pages and not is_empty_page_done:
        return Page([], [], None), _token(behind, True)
    page = service.backend.page(
        bucket.name, request.query.get("prefix", ""), request.query.get("delimiter", ""),
        min(wanted, bucket.page_size), behind, request.query.get("start-after"))
    return page, _token(page.next_token, False) if page.next_token else None


def list_objects(service: Service, request: Request) -> Response:
    """The first version, whose pages go on behind a key."""
    bucket = service.buckets.get(request.bucket)
    _check(bucket, request)
    wanted = request.number("max-keys", KEYS_MAX, 1, KEYS_MAX)
    marker, delimiter = request.query.get("marker", ""), request.query.get("delimiter", "")
    encode = _encoder(request)
    with service.steady(bucket):
        page = service.backend.page(bucket.name, request.query.get("prefix", ""), delimiter,
                                    min(wanted, bucket.page_size), None, marker)
        answer = _entries(service, bucket, request, page)
    answer |= {"Marker": encode(marker), "MaxKeys": wanted, "IsTruncated": page.next_token is not None}
    if page.next_token is not None:
        answer["NextMarker"] = encode(max([one.key for one in page.found] + page.prefixes, key=str.encode))
    return Response.of_json(answer)


def list_buckets(service: Service, request: Request) -> Response:
    buckets = []
    for name, created in service.backend.buckets():
        buckets.append({
            "Name": name, "Location": service.region, "CreationDate": list_date(created),
            **endpoints(service), "ProjectName": "default", "BucketType": service.buckets.type_of(name)})
    return Response.of_json({"Buckets": buckets, "Owner": OWNER})


def endpoints(service: Service) -> dict[str, str]:
    return {"ExtranetEndpoint": "tos-%s.volces.com" % service.region,
            "IntranetEndpoint": "tos-%s.ivolces.com" % service.region}
