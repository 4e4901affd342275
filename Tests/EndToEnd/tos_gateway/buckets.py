"""What buckets are like: flat or hierarchical, renaming allowed or not, public or not."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, fields
from typing import Any

from .backend import Backend
from .errors import TosError

FLAT = "fns"
HIERARCHICAL = "hns"


@dataclass
class Bucket:
    """The settings of a bucket. Tests set them through the admin address, clients some of them by TOS."""

    name: str
    type: str = FLAT
    acl: str = "private"
    # Whether a flat bucket has renaming; a hierarchical one always has it.
    rename: bool = False
    # When it got it: older objects can't be renamed.
    rename_since: float = 0.0
    # Whether it has versions: "", Enabled or Suspended. It can't have renaming then.
    versioning: str = ""
    # The most entries of a page of a listing; pages are cut short though the client asks for more.
    page_size: int = 1000
    # Whether every page with entries comes after one without, which a listing may have.
    empty_pages: bool = False
    # The directory that a hierarchical bucket moves to what is deleted; nothing, if it has no trash.
    trash: str = ""
    # How long an archived object takes to be restored, in seconds.
    restore_seconds: float = 1.0
    # Seconds that the service's clock is ahead of the machine's, for requests to this bucket.
    clock_offset: float = 0.0

    @property
    def is_hierarchical(self) -> bool:
        return self.type == HIERARCHICAL

    def set(self, values: dict[str, Any]) -> None:
        """Sets what a test asks for."""
        known = {field.name: field for field in fields(self)}
        for name, value in values.items():
            if name not in known or name in ("name", "rename_since", "versioning"):
                raise TosError("InvalidArgument", "a bucket has no setting " + name)
            wanted = type(getattr(self, name))
            if not isinstance(value, (int, float) if wanted is float else wanted):
                raise TosError("InvalidArgument", "%s is no %s" % (name, wanted.__name__))
            if name == "type" and value not in (FLAT, HIERARCHICAL):
                raise TosError("InvalidArgument", "a bucket is %s or %s" % (FLAT, HIERARCHICAL))
            if name == "rename":
                self.allow_rename(bool(value))
            else:
                setattr(self, name, value)

    def allow_rename(self, is_allowed: bool) -> None:
        if is_allowed and not self.rename:
            self.rename_since = time.time()
        self.rename = is_allowed


class Buckets:
    """The buckets that the gateway knows; one that an S3 client made is flat, private and without renaming."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._known: dict[str, Bucket] = {}
        self._lock = threading.Lock()

    def get(self, name: str) -> Bucket:
        with self._lock:
            known = self._known.get(name)
        if known is not None:
            return known
        if not self._backend.has_bucket(name):
            raise TosError("NoSuchBucket")
        with self._lock:
            return self._known.setdefault(name, Bucket(name))

    def clock_offset_of(self, name: str) -> float:
        """How far ahead the clock is for requests to a bucket, whether there is one or not."""
        with self._lock:
            known = self._known.get(name)
        return 0.0 if known is None else known.clock_offset

    def type_of(self, name: str) -> str:
        """The type of a bucket that the server behind has."""
        with self._lock:
            known = self._known.get(name)
        return FLAT if known is None else known.type

    def create(self, name: str) -> Bucket:
        # Source: TOS, naming of buckets.
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", name):
            raise TosError("InvalidBucketName")
        if self._backend.has_bucket(name):
            raise TosError("BucketAlreadyOwnedByYou")
        self._backend.create_bucket(name)
        with self._lock:
            self._known[name] = Bucket(name)
            return self._known[name]

    def forget(self, name: str) -> None:
        with self._lock:
            self._known.pop(name, None)
