"""RenameObject, in flat and in hierarchical buckets."""

from __future__ import annotations

import dataclasses

from . import conditions, hierarchy
from .backend import Source
from .buckets import Bucket
from .errors import TosError
from .service import Service
from .wire import Request, Response, check_key


def rename_object(service: Service, request: Request) -> Response:
    """Gives an object another key. Source: TOS API reference, "RenameObject"; the tests of the SDKs."""
    bucket = service.buckets.get(request.bucket)
    to = request.query.get("name", "")
    check_key(request.key)
    check_key(to)
    if not to or to == request.key:
        raise TosError("InvalidArgument", "the new key is that of the object, or none")
    keeps_time = request.flag("x-not-update-timestamp")
    with service.changing((bucket, request.key), (bucket, to)):
        if bucket.is_hierarchical:
            _rename_in_tree(service, bucket, request, to, keeps_time)
        else:
            _rename_flat(service, bucket, request, to, keeps_time)
    return Response(204)


def _rename_flat(service: Service, bucket: Bucket, request: Request, to: str, keeps_time: bool) -> None:
    if not bucket.rename:
        raise TosError("MethodNotAllowed", "renaming is not enabled for the bucket")
    record = service.objects.get(bucket.name, request.key)
    # The server behind tells whole seconds.
    if record.created + 1 < bucket.rename_since:
        raise TosError("MethodNotAllowed", "the object is older than renaming in this bucket")
    if not record.is_readable:
        raise TosError("InvalidObjectState")
    conditions.check_write(bucket, request.headers, service.objects.find(bucket.name, to))
    move(service, bucket, request.key, to, is_directory=False, keeps_time=keeps_time)


def _rename_in_tree(service: Service, bucket: Bucket, request: Request, to: str, keeps_time: bool) -> None:
    found, is_directory = hierarchy.find(service, bucket, request.key)
    if found is None:
        raise TosError("NoSuchKey")
    name, new_name = request.key.removesuffix("/"), to.removesuffix("/")
    if is_directory and (new_name + "/").startswith(name + "/"):
        raise TosError("InvalidArgument", "a directory can't go into itself", status=409,
                       ec=hierarchy.INTO_ITSELF)
    target_file = service.objects.find(bucket.name, new_name)
    target_directory = hierarchy.directory(service, bucket, new_name)
    if (is_directory and target_file is not None) or (not is_directory and
                                                      (target_directory is not None or to.endswith("/"))):
        raise TosError("InvalidSourceOrDestinationResourceType", ec=hierarchy.DIRECTORY_AND_FILE)
    if target_directory is not None:
        raise TosError("DuplicateObject", "a directory has the new name", ec=hierarchy.TARGET_IS_THERE)
    conditions.check_write(bucket, request.headers, target_file)
    if request.flag("x-tos-recursive-mkdir"):
        hierarchy.make_parents(service, bucket, new_name)
    else:
        hierarchy.check_parent(service, bucket, new_name)
    move(service, bucket, name, new_name, is_directory=is_directory, keeps_time=keeps_time)


def move(service: Service, bucket: Bucket, key: str, to: str, *, is_directory: bool,
         keeps_time: bool = False) -> None:
    """Moves a file, or a directory with all that is below it; the caller keeps others out.

    What is moved gets a new time, unless the request says otherwise; what is below it keeps its own.
    """
    if not is_directory:
        _move_one(service, bucket, key, to, keeps_time)
        return
    hierarchy.make(service, bucket, key)
    below = [found.key for found in service.backend.everything(bucket.name, key + "/")]
    for one in sorted(below, key=len):
        _move_one(service, bucket, one, to + one.removeprefix(key), keeps_time or one != key + "/")
    for one in sorted((one for one in below if one.endswith("/")), key=len, reverse=True):
        service.backend.delete(bucket.name, one)


def _move_one(service: Service, bucket: Bucket, key: str, to: str, keeps_time: bool) -> None:
    record = service.objects.get(bucket.name, key)
    moved = dataclasses.replace(record, time_set=record.last_modified if keeps_time else None)
    if key.endswith("/"):
        # SeaweedFS doesn't copy what stands for a directory. It goes when all that was in it has gone.
        service.backend.write(bucket.name, to, b"", record.headers, record.meta)
    else:
        source = Source(bucket.name, key, record.etag, None)
        service.backend.copy(source, bucket.name, to, record.headers, record.meta)
        service.backend.delete(bucket.name, key)
    service.objects.written(bucket.name, to, moved)
    service.objects.forget(bucket.name, key)
