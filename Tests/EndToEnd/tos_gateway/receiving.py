"""The body of an upload, taken in and checked before anything is stored, and what its headers describe."""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO
from urllib.parse import parse_qsl

from . import crc64
from .errors import TosError
from .objects import ARCHIVED, Record, now
from .signature import UNSIGNED
from .wire import CHUNK, Request, check_digest, quoted

# Larger bodies wait in a file.
MEMORY_MAX = 16 << 20
OBJECT_MAX = 5 << 30
META = "x-tos-meta-"
ENCRYPTION = "x-tos-server-side-encryption"
ENCRYPTION_KEY = ENCRYPTION + "-kms-key-id"
DESCRIBING = ("content-type", "cache-control", "content-disposition", "content-encoding", "content-language",
              "expires")
STORAGE_CLASSES = ARCHIVED | {"STANDARD", "IA", "ARCHIVE_FR", "INTELLIGENT_TIERING"}
ACLS = frozenset(["private", "public-read", "public-read-write", "authenticated-read", "bucket-owner-read",
                  "bucket-owner-full-control", "bucket-owner-entrusted", "default"])


@dataclass
class Received:
    """A body that is what the request says it is."""

    file: IO[bytes]
    size: int
    crc64: int


@contextlib.contextmanager
def receive(request: Request) -> Iterator[Received]:
    """Takes a body in; raises if it isn't the one whose digests were announced."""
    if request.length is not None and request.length > OBJECT_MAX:
        raise TosError("InvalidArgument", "the body is larger than 5 GiB")
    with tempfile.SpooledTemporaryFile(MEMORY_MAX) as file:
        size, crc = 0, 0
        md5 = hashlib.md5() if "content-md5" in request.headers else None
        announced = request.headers.get("x-tos-content-sha256", UNSIGNED)
        sha256 = hashlib.sha256() if announced != UNSIGNED else None
        while piece := request.body.read(CHUNK):
            file.write(piece)
            size += len(piece)
            crc = crc64.of(piece, crc)
            for digest in (md5, sha256):
                if digest is not None:
                    digest.update(piece)
        request.received = size
        if request.length is not None and size != request.length:
            raise TosError("InvalidArgument", "the body ended early")
        if md5 is not None:
            check_digest(request.headers, md5.digest())
        if sha256 is not None and sha256.hexdigest() != announced.lower():
            raise TosError("ContentSHA256Mismatch")
        file.seek(0)
        yield Received(file, size, crc)


def description(request: Request) -> tuple[dict[str, str], dict[str, str]]:
    """The describing headers and the user metadata of a request."""
    headers = {name: request.headers[name] for name in DESCRIBING if request.headers.get(name)}
    meta = {name.removeprefix(META): value for name, value in request.headers.items() if name.startswith(META)}
    for name, value in [*headers.items(), *meta.items()]:
        # Clients percent-encode them; what a server does with other bytes isn't documented.
        if not (name + value).isascii():
            raise TosError("InvalidArgument", "%s is not ASCII" % name)
    return headers, meta


def record_of(request: Request) -> Record:
    """What the headers of a request say about the object that it makes."""
    headers, meta = description(request)
    storage_class = request.headers.get("x-tos-storage-class", "STANDARD")
    if storage_class not in STORAGE_CLASSES:
        raise TosError("InvalidArgument", "there is no storage class " + storage_class)
    acl = request.headers.get("x-tos-acl", "default")
    if acl not in ACLS:
        raise TosError("InvalidArgument", "there is no access list " + acl)
    tags = parse_qsl(request.headers.get("x-tos-tagging", ""), keep_blank_values=True)
    encryption = {name: request.headers[name] for name in (ENCRYPTION, ENCRYPTION_KEY) if name in request.headers}
    if encryption.get(ENCRYPTION, "AES256") not in ("AES256", "kms"):
        raise TosError("InvalidArgument", "there is no encryption " + encryption[ENCRYPTION])
    if ENCRYPTION_KEY in encryption and encryption.get(ENCRYPTION) != "kms":
        raise TosError("InvalidArgument", "only the encryption kms has keys with an id")
    return Record("", 0, now(), headers, meta, storage_class=storage_class, acl=acl, encryption=encryption,
                  tags=check_tags(tags))


def check_tags(tags: list[tuple[str, str]]) -> list[tuple[str, str]]:
    if len(tags) > 10 or len({name for name, _ in tags}) != len(tags):
        raise TosError("InvalidArgument", "an object has at most ten tags, each once")
    return tags


def written_headers(record: Record) -> dict[str, str]:
    """What the answer to a write tells of the object that it made."""
    version = {} if record.version is None else {"x-tos-version-id": record.version}
    return {"etag": quoted(record.etag), "x-tos-hash-crc64ecma": str(record.crc64), **version}
