"""Multipart uploads: their parts, sent or copied, and what becomes of them."""

from __future__ import annotations

import re
from typing import Any

from . import conditions, crc64, hierarchy
from .backend import Changed
from .buckets import Bucket
from .copying import SOURCE, behind, copied, source_of
from .errors import TosError
from .listing import OWNER
from .objects import now
from .receiving import receive, record_of, written_headers
from .service import Service
from .uploads import Part, Upload
from .wire import Request, Response, bare, check_key, form_encode, list_date, quoted

PARTS_MAX = 10_000
PAGE_MAX = 1000


def create_multipart_upload(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    check_key(request.key)
    if bucket.is_hierarchical and request.key.endswith("/"):
        raise TosError("ContentLengthMustBeZero")
    record = record_of(request)
    id_behind = service.backend.create_upload(bucket.name, request.key, record.headers, record.meta)
    upload = Upload(bucket.name, request.key, id_behind, record)
    service.uploads.add(upload)
    answer = {"Bucket": bucket.name, "Key": request.key, "UploadId": upload.id}
    if request.query.get("encoding-type") == "url":
        answer |= {"Key": form_encode(request.key), "EncodingType": "url"}
    return Response.of_json(answer)


def _upload(service: Service, request: Request) -> tuple[Bucket, Upload]:
    bucket = service.buckets.get(request.bucket)
    return bucket, service.uploads.get(bucket.name, request.key, request.query.get("uploadId", ""))


def _part_number(request: Request) -> int:
    text = request.query.get("partNumber", "")
    if not re.fullmatch(r"\d{1,5}", text) or not 1 <= int(text) <= PARTS_MAX:
        raise TosError("InvalidPartNumber")
    return int(text)


def upload_part(service: Service, request: Request) -> Response:
    _, upload = _upload(service, request)
    number = _part_number(request)
    with receive(request) as body:
        etag = service.backend.write_part(upload.bucket, upload.key, upload.behind, number, body.file)
        part = Part(number, etag, body.size, body.crc64, now())
    service.uploads.put_part(upload, part)
    return Response(200, {"etag": quoted(etag), "x-tos-hash-crc64ecma": str(part.crc64)})


def upload_part_copy(service: Service, request: Request) -> Response:
    _, upload = _upload(service, request)
    number = _part_number(request)
    seen = source_of(service, request)
    first, size = 0, seen.target.size
    if SOURCE + "-range" in request.headers:
        first, size = conditions.exact_span(request.headers[SOURCE + "-range"], size)
    if size == 0:
        raise TosError("InvalidArgument", "there is nothing to copy")
    try:
        etag = service.backend.copy_part(behind(seen), first, size, upload.bucket, upload.key, upload.behind,
                                         number)
        crc = crc64.of_pieces(service.backend.read(seen.bucket, seen.key, seen.target.etag, first, size,
                                                   seen.target.version))
    except Changed as failure:
        raise TosError("PreconditionFailed", "the source changed") from failure
    part = Part(number, etag, size, crc, now())
    service.uploads.put_part(upload, part)
    return copied(seen, etag, part.modified, None)


def complete_multipart_upload(service: Service, request: Request) -> Response:
    bucket, upload = _upload(service, request)
    takes_all = request.headers.get("x-tos-complete-all", "").lower() == "yes"
    parts = _all_parts(request, upload) if takes_all else _listed_parts(request, upload)
    with service.changing((bucket, request.key)), upload.lock:
        # Somebody else may have been faster.
        _upload(service, request)
        if bucket.is_hierarchical:
            hierarchy.check_file(service, bucket, request.key, 1)
        conditions.check_write(bucket, request.headers, service.objects.find(bucket.name, request.key),
                               knows_http=True)
        if bucket.is_hierarchical:
            hierarchy.make_parents(service, bucket, request.key)
        service.backend.complete_upload(bucket.name, request.key, upload.behind,
                                        [(part.number, part.etag) for part in parts])
        record = upload.record
        record.crc64 = 0
        for part in parts:
            record.crc64 = crc64.combined(record.crc64, part.crc64, part.size)
        service.objects.written(bucket.name, request.key, record)
        service.uploads.remove(upload)
    answer: dict[str, Any] = {
        "Bucket": bucket.name, "Key": request.key, "ETag": quoted(record.etag),
        "Location": "http://%s.tos-%s.volces.com/%s" % (bucket.name, service.region, request.key)}
    if takes_all:
        answer["CompletedParts"] = [{"PartNumber": part.number, "ETag": quoted(part.etag)} for part in parts]
    return Response.of_json(answer, written_headers(record))


def _all_parts(request: Request, upload: Upload) -> list[Part]:
    if request.body.read(1):
        raise TosError("MalformedBody", "x-tos-complete-all goes without a list of parts")
    if not upload.parts:
        raise TosError("InvalidPart", "the upload has no parts")
    return [upload.parts[number] for number in sorted(upload.parts)]


def _listed_parts(request: Request, upload: Upload) -> list[Part]:
    wanted = request.json()
    try:
        listed = [(int(one["PartNumber"]), bare(str(one["ETag"]))) for one in wanted["Parts"]]
    except (KeyError, TypeError, ValueError) as failure:
        raise TosError("MalformedBody") from failure
    if not listed:
        raise TosError("MalformedBody", "there are no parts")
    # The vendor's Python SDK lists parts in the order in which they were done, so any order will do.
    listed.sort()
    if len({number for number, _ in listed}) != len(listed):
        raise TosError("InvalidPart", "a part is listed twice")
    for number, etag in listed:
        if number not in upload.parts or upload.parts[number].etag != etag:
            raise TosError("InvalidPart", "part %d is not there, or its ETag is another" % number)
    return [upload.parts[number] for number, _ in listed]


def abort_multipart_upload(service: Service, request: Request) -> Response:
    bucket, upload = _upload(service, request)
    with upload.lock:
        _upload(service, request)
        service.backend.abort_upload(bucket.name, upload.key, upload.behind)
        service.uploads.remove(upload)
    return Response(204)


def list_parts(service: Service, request: Request) -> Response:
    bucket, upload = _upload(service, request)
    count = request.number("max-parts", PAGE_MAX, 1, PAGE_MAX)
    marker = request.number("part-number-marker", 0, 0, PARTS_MAX)
    numbers = sorted(number for number in upload.parts if number > marker)
    page = [upload.parts[number] for number in numbers[:count]]
    return Response.of_json({
        "Bucket": bucket.name, "Key": upload.key, "UploadId": upload.id, "PartNumberMarker": marker,
        "NextPartNumberMarker": page[-1].number if page else 0, "MaxParts": count,
        "IsTruncated": len(numbers) > count, "StorageClass": upload.record.storage_class, "Owner": OWNER,
        "Parts": [{"PartNumber": part.number, "LastModified": list_date(part.modified),
                   "ETag": quoted(part.etag), "Size": part.size} for part in page]})


def list_multipart_uploads(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    count = request.number("max-uploads", PAGE_MAX, 1, PAGE_MAX)
    query = request.query
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    marker = query.get("key-marker", ""), query.get("upload-id-marker", "")
    encode = form_encode if query.get("encoding-type") == "url" else str
    uploads: list[Upload] = []
    prefixes: list[str] = []
    is_truncated = False
    last = marker
    for upload in service.uploads.of(bucket.name):
        # Without an id the marker is behind all uploads of its key.
        is_behind = (upload.key, upload.id) > marker if marker[1] else upload.key > marker[0]
        if not upload.key.startswith(prefix) or not is_behind:
            continue
        end = upload.key.find(delimiter, len(prefix)) if delimiter else -1
        common = upload.key[: end + len(delimiter)] if end >= 0 else None
        if common is not None and (common in prefixes or marker[0].startswith(common)):
            continue
        if len(uploads) + len(prefixes) == count:
            is_truncated = True
            break
        if common is None:
            uploads.append(upload)
            last = upload.key, upload.id
        else:
            prefixes.append(common)
            last = common, ""
    answer: dict[str, Any] = {
        "Bucket": bucket.name, "Prefix": encode(prefix), "Delimiter": encode(delimiter),
        "KeyMarker": encode(marker[0]), "UploadIdMarker": marker[1], "MaxUploads": count,
        "IsTruncated": is_truncated,
        "Uploads": [{"Key": encode(one.key), "UploadId": one.id, "Owner": OWNER,
                     "StorageClass": one.record.storage_class, "Initiated": list_date(one.initiated)}
                    for one in uploads],
        "CommonPrefixes": [{"Prefix": encode(one)} for one in prefixes]}
    if is_truncated:
        answer |= {"NextKeyMarker": encode(last[0]), "NextUploadIdMarker": last[1]}
    return Response.of_json(answer)
