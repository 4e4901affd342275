"""DeleteObject and DeleteMultiObjects."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from . import hierarchy, moving
from .buckets import Bucket
from .errors import TosError
from .reading import check_version
from .service import Service
from .wire import Request, Response, check_key

OBJECTS_MAX = 1000


def delete_object(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    check_version(bucket, request)
    check_key(request.key)
    with service.changing((bucket, request.key)):
        trashed = _delete(service, bucket, request.key, request)
    return Response(204, {"x-tos-trash-path": trashed} if trashed else {})


def delete_multi_objects(service: Service, request: Request) -> Response:
    """Deletes many objects; says of each whether it worked."""
    bucket = service.buckets.get(request.bucket)
    wanted = request.json(needs_digest=True)
    try:
        keys = [one["Key"] for one in wanted["Objects"]]
        is_quiet = bool(wanted.get("Quiet", False))
    except (KeyError, TypeError, AttributeError) as failure:
        raise TosError("MalformedBody") from failure
    if not 0 < len(keys) <= OBJECTS_MAX or not all(isinstance(key, str) and key for key in keys):
        raise TosError("MalformedBody", "there are no keys, or more than %d" % OBJECTS_MAX)
    deleted: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    for key in keys:
        try:
            check_key(key)
            with service.changing((bucket, key)):
                trashed = _delete(service, bucket, key, request)
            deleted.append({"Key": key, **({"TrashPath": trashed} if trashed else {})})
        except TosError as failure:
            errors.append({"Key": key, "Code": failure.code, "Message": failure.message})
    answer: dict[str, Any] = {} if is_quiet else {"Deleted": deleted}
    # It is spelled like this, without an s.
    return Response.of_json({**answer, **({"Error": errors} if errors else {})})


def _delete(service: Service, bucket: Bucket, key: str, request: Request) -> str | None:
    """Deletes what lies at a key, if anything does; gives where it lies now, if it went to the trash."""
    if not bucket.is_hierarchical:
        _drop(service, bucket, key)
        return None
    found, is_directory = hierarchy.find(service, bucket, key)
    if found is None:
        return None
    # Only a bucket with a trash takes directories away that are not empty.
    takes_all = bucket.trash and request.query.get("recursive") == "true"
    if is_directory and not takes_all and not hierarchy.is_empty(service, bucket, key):
        raise TosError("CannotDelete")
    name = key.removesuffix("/")
    is_trash = (name + "/").startswith(bucket.trash)
    if bucket.trash and not is_trash and request.query.get("skipTrash") != "true":
        to = bucket.trash + datetime.now(timezone.utc).strftime("%Y%m%d%H%M%S") + "/" + name
        hierarchy.make_parents(service, bucket, to)
        moving.move(service, bucket, name, to, is_directory=is_directory)
        return to
    if is_directory:
        # The innermost first, so that a directory is never without the one it lies in.
        below = [one.key for one in service.backend.everything(bucket.name, name + "/")]
        for one in sorted(below, key=len, reverse=True):
            _drop(service, bucket, one)
    else:
        _drop(service, bucket, name)
    return None


def _drop(service: Service, bucket: Bucket, key: str) -> None:
    service.backend.delete(bucket.name, key)
    service.objects.forget(bucket.name, key)
