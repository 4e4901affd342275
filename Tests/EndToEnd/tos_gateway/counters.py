"""Requests by operation and object bytes, for each bucket, as a test wants to count them."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Count:
    """What a bucket has seen."""

    # By the operation's name in the API reference.
    requests: Counter[str] = field(default_factory=Counter)
    # The answers that were no success, by their code.
    errors: Counter[str] = field(default_factory=Counter)
    # Bytes of objects alone: no heads, no listings.
    bytes_received: int = 0
    bytes_sent: int = 0


class Counters:
    """The counts of all buckets."""

    def __init__(self) -> None:
        self._counts: dict[str, Count] = {}
        self._lock = threading.Lock()

    def add(self, bucket: str, operation: str, received: int, sent: int, error: str | None) -> None:
        with self._lock:
            count = self._counts.setdefault(bucket, Count())
            count.requests[operation] += 1
            count.bytes_received += received
            count.bytes_sent += sent
            if error is not None:
                count.errors[error] += 1

    def of(self, bucket: str) -> dict[str, Any]:
        with self._lock:
            count = self._counts.get(bucket, Count())
            return {"requests": dict(count.requests), "errors": dict(count.errors),
                    "bytes_received": count.bytes_received, "bytes_sent": count.bytes_sent}
