"""What all operations share: the server behind, the buckets, the objects, the uploads, the locks."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from .access import KeyRing
from .backend import Backend
from .buckets import Bucket, Buckets
from .counters import Counters
from .objects import Objects
from .uploads import Uploads


class Locks:
    """A lock for each name."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        # The lock and how many hold it or wait for it.
        self._locks: dict[tuple[str, str], tuple[threading.Lock, int]] = {}

    @contextlib.contextmanager
    def hold(self, names: set[tuple[str, str]]) -> Iterator[None]:
        """Holds the locks of names; in their order, so that two holders can't wait for one another."""
        with contextlib.ExitStack() as stack:
            for name in sorted(names):
                stack.enter_context(self._one(name))
            yield

    @contextlib.contextmanager
    def _one(self, name: tuple[str, str]) -> Iterator[None]:
        with self._guard:
            lock, count = self._locks.get(name, (threading.Lock(), 0))
            self._locks[name] = lock, count + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, count = self._locks.pop(name)
                if count > 1:
                    self._locks[name] = lock, count - 1


class Service:
    """The state of a gateway."""

    def __init__(self, backend: Backend, region: str, keys: KeyRing) -> None:
        self.backend = backend
        self.region = region
        self.keys = keys
        self.buckets = Buckets(backend)
        self.objects = Objects(backend)
        self.uploads = Uploads()
        self.counters = Counters()
        self._locks = Locks()

    @contextlib.contextmanager
    def changing(self, *places: tuple[Bucket, str]) -> Iterator[None]:
        """Lets nobody else change these keys; in a hierarchical bucket, anything, as directories are shared."""
        with self._locks.hold({(bucket.name, "" if bucket.is_hierarchical else key) for bucket, key in places}):
            yield

    @contextlib.contextmanager
    def steady(self, bucket: Bucket) -> Iterator[None]:
        """Lets no directory move while something is looked up, so that one is seen to move at once."""
        with self._locks.hold({(bucket.name, "")} if bucket.is_hierarchical else set()):
            yield
