"""DeleteObject and DeleteMultiObjects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from . import hierarchy, moving
from .buckets import Bucket
from .errors import TosError
from .reading import version_of
from .service import Service
from .wire import Request, Response, check_key

OBJECTS_MAX = 1000


def delete_object(service: Service, request: Request) -> Response:
    bucket = service.buckets.get(request.bucket)
    check_key(request.key)
    version = version_of(bucket, request.query.get("versionId"))
    with service.changing((bucket, request.key)):
        gone = _delete(service, bucket, request.key, request, version)
    fields = {"x-tos-trash-path": gone.trash_path, "x-tos-version-id": gone.version,
              "x-tos-delete-marker": "true" if gone.is_marker else None}
    return Response(204, {name: value for name, value in fields.items() if value is not None})


def delete_multi_objects(service: Service, request: Request) -> Response:
    """Deletes many objects; says of each whether it worked."""
    bucket = service.buckets.get(request.bucket)
    wanted = request.json(needs_digest=True)
    try:
        objects = [(one["Key"], one.get("VersionId")) for one in wanted["Objects"]]
        is_quiet = bool(wanted.get("Quiet", False))
    except (KeyError, TypeError, AttributeError) as failure:
        raise TosError("MalformedBody") from failure
    if not 0 < len(objects) <= OBJECTS_MAX or not all(isinstance(key, str) and key for key, _ in objects):
        raise TosError("MalformedBody", "there are no keys, or more than %d" % OBJECTS_MAX)
    deleted: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    for key, version in objects:
        try:
            check_key(key)
            version = version_of(bucket, version)
            with service.changing((bucket, key)):
                gone = _delete(service, bucket, key, request, version)
            fields = {"Key": key, "VersionId": version, "TrashPath": gone.trash_path,
                      "DeleteMarker": gone.is_marker or None,
                      "DeleteMarkerVersionId": gone.version if gone.is_marker else None}
            deleted.append({name: value for name, value in fields.items() if value is not None})
        except TosError as failure:
            errors.append({"Key": key, "Code": failure.code, "Message": failure.message})
    answer: dict[str, Any] = {} if is_quiet else {"Deleted": deleted}
    # It is spelled like this, without an s.
    return Response.of_json({**answer, **({"Error": errors} if errors else {})})


@dataclass
class Gone:
    """What became of a deleted object."""

    # Where it lies now, if it went to the trash.
    trash_path: str | None = None
    # Of a bucket with versions: the one that is gone, or the one that marks the object as deleted.
    version: str | None = None
    is_marker: bool = False


def _delete(service: Service, bucket: Bucket, key: str, request: Request, version: str | None) -> Gone:
    """Deletes what lies at a key, if anything does."""
    if not bucket.is_hierarchical:
        gone_version, is_marker = service.backend.delete(bucket.name, key, version)
        if version is None:
            service.objects.forget(bucket.name, key)
        return Gone(None, gone_version if bucket.versioning else None, is_marker)
    found, is_directory = hierarchy.find(service, bucket, key)
    if found is None:
        return Gone()
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
        return Gone(to)
    below = [name]
    if is_directory:
        # The innermost first, so that nothing is ever without the directory it lies in.
        below = [one.key for one in service.backend.everything(bucket.name, name + "/")]
        below.sort(key=len, reverse=True)
    for one in below:
        service.backend.delete(bucket.name, one)
        service.objects.forget(bucket.name, one)
    return Gone()
