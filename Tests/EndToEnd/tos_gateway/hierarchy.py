"""Directories of a hierarchical bucket.

In such a bucket a directory is a thing of its own: it is there before it has a file, it stays when its
last file is gone, and nothing is below a file. The server behind is flat, so a directory is kept as an
empty object with a key that ends in `/`. Source: TOS, "Hierarchical namespace"; the tests of the vendor's
SDKs for the codes.
"""

from __future__ import annotations

from . import objects
from .buckets import Bucket
from .errors import TosError
from .objects import Record
from .service import Service

UNDER_A_FILE = "0026-00000020"
TARGET_IS_THERE = "0026-00000025"
INTO_ITSELF = "0026-00000026"
DIRECTORY_AND_FILE = "0026-00000027"
NO_PARENT = "0026-00000000"


def directory_key(key: str) -> str:
    return key if key.endswith("/") else key + "/"


def find(service: Service, bucket: Bucket, key: str) -> tuple[Record | None, bool]:
    """What lies at a key, written with or without a last slash, and whether that is a directory."""
    name = key.removesuffix("/")
    file = service.objects.find(bucket.name, name) if name else None
    if file is not None:
        if key.endswith("/"):
            raise TosError("DuplicateObject", "a file has this name", ec=UNDER_A_FILE)
        return file, False
    return directory(service, bucket, key), True


def directory(service: Service, bucket: Bucket, key: str) -> Record | None:
    """A directory, if there is one; one that only an S3 client's keys imply counts too."""
    key = directory_key(key)
    record = service.objects.find(bucket.name, key)
    if record is None and service.backend.page(bucket.name, key, "", 1).found:
        return Record("", 0, objects.now())
    return record


def is_empty(service: Service, bucket: Bucket, key: str) -> bool:
    key = directory_key(key)
    return all(found.key == key for found in service.backend.page(bucket.name, key, "", 2).found)


def make(service: Service, bucket: Bucket, key: str) -> None:
    """Makes a directory; one that is there already is left alone."""
    key = directory_key(key)
    if service.objects.find(bucket.name, key) is None:
        service.backend.write(bucket.name, key, b"", {}, {})
        service.objects.written(bucket.name, key, Record("", 0, objects.now(), crc64=0))


def make_parents(service: Service, bucket: Bucket, key: str) -> None:
    """Makes the directories that a key lies in; raises if one of them is a file."""
    for parent in _parents(key):
        if service.objects.find(bucket.name, parent.removesuffix("/")) is not None:
            raise TosError("DuplicateObject", "a directory of the key is a file", ec=UNDER_A_FILE)
        make(service, bucket, parent)


def check_parent(service: Service, bucket: Bucket, key: str) -> None:
    """Raises unless the directory that a key lies in is there."""
    parents = _parents(key)
    if parents and directory(service, bucket, parents[-1]) is None:
        raise TosError("NoSuchKey", "the directory of the new key is missing", ec=NO_PARENT)


def check_file(service: Service, bucket: Bucket, key: str, size: int) -> None:
    """Raises unless an object of so many bytes may be written at a key."""
    name = key.removesuffix("/")
    if key.endswith("/"):
        if size:
            raise TosError("ContentLengthMustBeZero")
        if service.objects.find(bucket.name, name) is not None:
            raise TosError("DuplicateObject", "a file has this name")
    elif directory(service, bucket, key) is not None:
        raise TosError("DuplicateObject", "a directory has this name")


def _parents(key: str) -> list[str]:
    """The directories that a key lies in, outermost first."""
    names = key.removesuffix("/").split("/")[:-1]
    return ["/".join(names[: count + 1]) + "/" for count in range(len(names))]
