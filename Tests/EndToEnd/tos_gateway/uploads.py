"""Multipart uploads that are not completed: what the gateway knows about them."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field
from datetime import datetime

from .errors import TosError
from .objects import Record, now


@dataclass(frozen=True)
class Part:
    """A part that the server behind has."""

    number: int
    etag: str
    size: int
    crc64: int
    modified: datetime


@dataclass
class Upload:
    """A multipart upload."""

    bucket: str
    key: str
    # The id that the server behind gave it.
    behind: str
    # What the object will be.
    record: Record
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    initiated: datetime = field(default_factory=now)
    parts: dict[int, Part] = field(default_factory=dict)
    # Held while it is completed or aborted, so that only one is.
    lock: threading.Lock = field(default_factory=threading.Lock)


class Uploads:
    """The uploads under way."""

    def __init__(self) -> None:
        self._uploads: dict[str, Upload] = {}
        self._lock = threading.Lock()

    def add(self, upload: Upload) -> None:
        with self._lock:
            self._uploads[upload.id] = upload

    def get(self, bucket: str, key: str, id: str) -> Upload:
        with self._lock:
            upload = self._uploads.get(id)
        if upload is None or (upload.bucket, upload.key) != (bucket, key):
            raise TosError("NoSuchUpload")
        return upload

    def remove(self, upload: Upload) -> None:
        with self._lock:
            self._uploads.pop(upload.id, None)

    def of(self, bucket: str) -> list[Upload]:
        """A bucket's uploads, by key and then by id."""
        with self._lock:
            found = [upload for upload in self._uploads.values() if upload.bucket == bucket]
        return sorted(found, key=lambda upload: (upload.key.encode(), upload.id))

    def forget(self, bucket: str) -> None:
        with self._lock:
            self._uploads = {id: upload for id, upload in self._uploads.items() if upload.bucket != bucket}

    def put_part(self, upload: Upload, part: Part) -> None:
        """Notes a part; a later one of the same number takes its place."""
        with self._lock:
            upload.parts = {**upload.parts, part.number: part}
