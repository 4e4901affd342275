"""Who may do what: access keys, their tokens and expiry, clocks, and what is public."""

from __future__ import annotations

import calendar
import threading
import time
from dataclasses import dataclass

from . import signature
from .errors import TosError
from .wire import Request

# How far a client's clock may be off, in seconds.
SKEW_MAX = 15 * 60


@dataclass(frozen=True)
class AccessKey:
    """A key that requests may be signed with."""

    secret: str
    # A temporary key comes with a token, which every request must carry.
    token: str | None = None
    # When it ends, in seconds since 1970; None for never.
    ends: float | None = None
    # Operations that it may not do, by their names in the API reference.
    denied: frozenset[str] = frozenset()


class KeyRing:
    """The access keys that are valid."""

    def __init__(self, region: str) -> None:
        self.region = region
        self._keys: dict[str, AccessKey] = {}
        self._lock = threading.Lock()

    def put(self, name: str, key: AccessKey) -> None:
        with self._lock:
            self._keys[name] = key

    def remove(self, name: str) -> None:
        with self._lock:
            self._keys.pop(name, None)

    def authenticate(self, request: Request, clock_offset: float) -> AccessKey | None:
        """The key that a request is signed with, None if it is anonymous; raises if it is signed wrongly.

        The service's clock is `clock_offset` seconds ahead of the machine's.
        """
        claimed = signature.claim(request.headers, request.query_pairs)
        if claimed is None:
            return None
        with self._lock:
            key = self._keys.get(claimed.access_key)
        if key is None:
            raise TosError("InvalidAccessKeyId")
        if claimed.region != self.region:
            raise TosError("AuthorizationHeaderMalformed",
                           "the region is %s, not %s" % (self.region, claimed.region))
        unsigned = signature.unsigned_headers(request.headers, claimed)
        if unsigned:
            raise TosError("AccessDenied", "headers are not signed: " + ", ".join(unsigned))
        self._check_time(claimed, clock_offset)
        if not signature.is_signed(request.method, request.path, request.query_pairs, request.headers, claimed,
                                   key.secret):
            raise TosError("SignatureDoesNotMatch")
        if claimed.token != key.token:
            raise TosError("InvalidSecurityToken")
        if key.ends is not None and time.time() >= key.ends:
            raise TosError("ExpiredToken")
        return key

    def _check_time(self, claimed: signature.Claim, clock_offset: float) -> None:
        try:
            signed = calendar.timegm(time.strptime(claimed.date, "%Y%m%dT%H%M%SZ"))
        except ValueError as failure:
            raise TosError("AuthorizationHeaderMalformed", "the date is none") from failure
        age = time.time() + clock_offset - signed
        if claimed.expires is None:
            if abs(age) > SKEW_MAX:
                raise TosError("RequestTimeTooSkewed")
        elif age < -SKEW_MAX:
            raise TosError("RequestTimeTooSkewed")
        elif age > claimed.expires:
            raise TosError("AccessDenied", "the signed URL has expired")


def allow(key: AccessKey | None, operation: str, reads: bool, acl: str) -> None:
    """Raises unless the key, or the access list of the bucket or object, allows the operation."""
    if key is not None:
        if operation in key.denied:
            raise TosError("AccessDenied", "the key may not do " + operation)
        return
    if acl == "public-read-write" or (reads and acl == "public-read"):
        return
    raise TosError("AccessDenied", "the request is not signed, and the bucket is not public")
