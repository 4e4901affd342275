"""What the gateway knows about objects beyond what the S3 server keeps.

An S3 server has no CRC-64 of an object, no symlinks, no restored copies; it can't change metadata without
making the object anew. So there is a record for each object that a client of TOS wrote. A record belongs
to one key and one ETag: if an S3 client has replaced the object meanwhile, the record is dropped and made
from what the server says.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from . import crc64
from .backend import Backend, Found
from .errors import TosError

ARCHIVED = frozenset(["ARCHIVE", "COLD_ARCHIVE", "DEEP_COLD_ARCHIVE"])
# What an object is whose writer didn't say.
DEFAULT_TYPE = "binary/octet-stream"


@dataclass(frozen=True)
class Restoration:
    """A copy of an archived object that can be read for some days."""

    asked: datetime
    # In seconds since 1970.
    done: float
    days: int
    tier: str

    @property
    def is_ongoing(self) -> bool:
        return time.time() < self.done

    @property
    def ends(self) -> datetime:
        return self.asked + timedelta(days=self.days)


@dataclass
class Record:
    """An object."""

    etag: str
    size: int
    modified: datetime
    # Content-Type and the other headers that describe it.
    headers: dict[str, str] = field(default_factory=dict)
    # User metadata: names without `x-tos-meta-`, values as they came.
    meta: dict[str, str] = field(default_factory=dict)
    crc64: int | None = None
    storage_class: str = "STANDARD"
    acl: str = "default"
    # How it is encrypted, and with which key of the key service: the headers of the write that said so.
    encryption: dict[str, str] = field(default_factory=dict)
    # Of a bucket with versions.
    version: str | None = None
    # Appendable or Symlink.
    type: str = "Normal"
    # Of a symlink: bucket and key.
    target: tuple[str, str] | None = None
    tags: list[tuple[str, str]] = field(default_factory=list)
    restoration: Restoration | None = None
    # The time that SetObjectTime or a rename gave it; the server behind has another.
    time_set: datetime | None = None
    # When it was made by the clock of this machine, in seconds since 1970.
    created: float = field(default_factory=time.time)

    @property
    def last_modified(self) -> datetime:
        return self.time_set or self.modified

    @property
    def is_readable(self) -> bool:
        if self.storage_class not in ARCHIVED:
            return True
        return self.restoration is not None and not self.restoration.is_ongoing

    def is_of(self, found: Found) -> bool:
        """Whether this is about the object that the server has."""
        # Some answers of servers have milliseconds, others don't.
        return (self.etag == found.etag and self.size == found.size
                and (found.version is None or self.version == found.version)
                and int(self.modified.timestamp()) == int(found.modified.timestamp()))


class Objects:
    """The records, and the objects of the server that they are about."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._records: dict[tuple[str, str], Record] = {}
        self._lock = threading.Lock()

    def get(self, bucket: str, key: str, version: str | None = None) -> Record:
        """The object at a key, or one of its versions; raises NoSuchKey."""
        found = self.backend.head(bucket, key, version)
        record = self.known(bucket, found)
        if record is None:
            record = Record(found.etag, found.size, found.modified, found.headers, found.meta, version=found.version)
            record.created = found.modified.timestamp()
            if version is None:
                with self._lock:
                    self._records[bucket, key] = record
        return record

    def find(self, bucket: str, key: str) -> Record | None:
        """The object at a key, or None."""
        try:
            return self.get(bucket, key)
        except TosError as failure:
            if failure.code == "NoSuchKey":
                return None
            raise

    def known(self, bucket: str, found: Found) -> Record | None:
        """The record of an object that the server has, if there is one."""
        with self._lock:
            record = self._records.get((bucket, found.key))
        return record if record is not None and record.is_of(found) else None

    def written(self, bucket: str, key: str, record: Record) -> Record:
        """Notes what a client wrote, after the server has it."""
        found = self.backend.head(bucket, key)
        record.etag, record.size, record.modified = found.etag, found.size, found.modified
        record.version = found.version
        record.created = time.time()
        with self._lock:
            self._records[bucket, key] = record
        return record

    def forget(self, bucket: str, key: str) -> None:
        with self._lock:
            self._records.pop((bucket, key), None)

    def checksum(self, bucket: str, key: str, record: Record) -> int:
        """The CRC-64 of an object; reads it if an S3 client wrote it."""
        if record.crc64 is None:
            record.crc64 = crc64.of_pieces(
                self.backend.read(bucket, key, record.etag, 0, record.size, record.version))
        return record.crc64


def now() -> datetime:
    return datetime.now(timezone.utc)
