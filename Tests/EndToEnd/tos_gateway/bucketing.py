"""Operations on buckets as a whole."""

from __future__ import annotations

from .buckets import FLAT, HIERARCHICAL
from .errors import TosError
from .listing import OWNER, endpoints
from .service import Service
from .wire import Request, Response, list_date

TYPE = "x-tos-bucket-type"


def create_bucket(service: Service, request: Request) -> Response:
    kind = request.headers.get(TYPE) or FLAT
    if kind not in (FLAT, HIERARCHICAL):
        raise TosError("InvalidArgument", "%s is not %s or %s" % (TYPE, FLAT, HIERARCHICAL))
    storage_class = request.headers.get("x-tos-storage-class", "STANDARD")
    if kind == HIERARCHICAL and storage_class != "STANDARD":
        raise TosError("InvalidArgument", "a hierarchical bucket has the storage class STANDARD alone")
    bucket = service.buckets.create(request.bucket)
    bucket.set({"type": kind, "acl": request.headers.get("x-tos-acl", "private")})
    return Response(200, {"location": "/" + bucket.name, TYPE: kind})


def head_bucket(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    return Response(200, {
        "x-tos-bucket-region": service.region, "x-tos-storage-class": "STANDARD",
        "x-tos-az-redundancy": "single-az", "x-tos-project-name": "default", TYPE: bucket.type})


def delete_bucket(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    # SeaweedFS would delete them with it.
    if service.backend.page(bucket.name, "", "", 1).found:
        raise TosError("BucketNotEmpty")
    service.backend.delete_bucket(bucket.name)
    service.buckets.forget(bucket.name)
    service.uploads.forget(bucket.name)
    return Response(204)


def get_bucket_location(service: Service, request: Request) -> Response:
    service.buckets.get(request.bucket)
    return Response.of_json({"Region": service.region, **endpoints(service)})


def get_bucket_info(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    created = dict(service.backend.buckets())[bucket.name]
    return Response.of_json({"Bucket": {
        "Name": bucket.name, "Owner": OWNER, "CreationDate": list_date(created), "StorageClass": "STANDARD",
        "ProjectName": "default", "Type": bucket.type, "Location": service.region, "AzRedundancy": "single-az",
        **endpoints(service)}})


def put_bucket_rename(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    if bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    wanted = request.json()
    if not isinstance(wanted, dict) or not isinstance(wanted.get("RenameEnable"), bool):
        raise TosError("MalformedBody")
    if bucket.versioning:
        raise TosError("MethodNotAllowed", "a bucket with versions has no renaming")
    bucket.allow_rename(wanted["RenameEnable"])
    return Response()


def get_bucket_rename(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    if bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    return Response.of_json({"RenameEnable": bucket.rename})


def delete_bucket_rename(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    if bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    bucket.allow_rename(False)
    return Response(204)


def put_bucket_versioning(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    if bucket.is_hierarchical or bucket.rename:
        raise TosError("MethodNotAllowed", "such a bucket has no versions")
    wanted = request.json()
    status = wanted.get("Status") if isinstance(wanted, dict) else None
    if status not in ("Enabled", "Suspended"):
        raise TosError("MalformedBody")
    service.backend.set_versioning(bucket.name, status)
    bucket.versioning = status
    return Response()


def get_bucket_versioning(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    if bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    return Response.of_json({"Status": bucket.versioning} if bucket.versioning else {})


def put_bucket_trash(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    if not bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    wanted = request.json()
    try:
        trash = wanted["Trash"]
        is_enabled, path = trash["Status"] == "Enabled", str(trash["TrashPath"])
    except (KeyError, TypeError) as failure:
        raise TosError("MalformedBody") from failure
    bucket.trash = path.rstrip("/") + "/" if is_enabled else ""
    return Response()


def get_bucket_trash(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    if not bucket.is_hierarchical:
        raise TosError("MethodNotAllowed")
    status = "Enabled" if bucket.trash else "Disabled"
    return Response.of_json({"Trash": {"TrashPath": bucket.trash, "CleanInterval": 7, "Status": status}})
