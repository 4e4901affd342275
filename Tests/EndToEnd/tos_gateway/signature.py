"""TOS4-HMAC-SHA256, read and computed anew; pure.

Source: TOS API reference, "Signature"; the vendor's Python SDK.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from .errors import TosError

ALGORITHM = "TOS4-HMAC-SHA256"
EMPTY_DIGEST = hashlib.sha256(b"").hexdigest()
UNSIGNED = "UNSIGNED-PAYLOAD"
# The longest time that a URL may be signed for, in seconds.
EXPIRES_MAX = 7 * 24 * 3600

Query = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Claim:
    """What a request says about its signature."""

    access_key: str
    scope: str
    region: str
    signed_headers: tuple[str, ...]
    signature: str
    date: str
    token: str | None
    # Seconds that a signed URL is valid; None for a signed header.
    expires: int | None


def encode(text: str, safe: str = "") -> str:
    """Percent-encodes everything but the unreserved characters, and `safe`."""
    return quote(_bytes(text), safe=safe + "-_.~")


def _bytes(text: str) -> bytes:
    """What was on the wire: bytes that are no UTF-8 come as surrogates."""
    return text.encode("utf-8", "surrogateescape")


def claim(headers: Mapping[str, str], query: Query) -> Claim | None:
    """The claim of a request, or None if it is anonymous; headers have lower-case names."""
    parameters = {name.lower(): value for name, value in query}
    if "x-tos-signature" in parameters or "x-tos-algorithm" in parameters:
        return _claim_of_query(parameters)
    authorization = headers.get("authorization")
    if authorization is None:
        return None
    algorithm, _, rest = authorization.partition(" ")
    fields = dict(re.findall(r"\s*(\w+)=([^,]*?)\s*(?:,|$)", rest))
    if algorithm != ALGORITHM:
        raise TosError("AuthorizationHeaderMalformed", "the algorithm is not " + ALGORITHM)
    if "x-tos-date" not in headers:
        raise TosError("AuthorizationHeaderMalformed", "x-tos-date is missing")
    return _claim(fields.get("Credential", ""), fields.get("SignedHeaders", ""), fields.get("Signature", ""),
                  headers["x-tos-date"], headers.get("x-tos-security-token"), None)


def _claim_of_query(parameters: Mapping[str, str]) -> Claim:
    if parameters.get("x-tos-algorithm") != ALGORITHM:
        raise TosError("InvalidArgument", "X-Tos-Algorithm is not " + ALGORITHM)
    expires = parameters.get("x-tos-expires", "3600")
    if not expires.isdecimal() or not 1 <= int(expires) <= EXPIRES_MAX:
        raise TosError("InvalidArgument", "X-Tos-Expires is not from 1 to %d" % EXPIRES_MAX)
    return _claim(parameters.get("x-tos-credential", ""), parameters.get("x-tos-signedheaders", ""),
                  parameters.get("x-tos-signature", ""), parameters.get("x-tos-date", ""),
                  parameters.get("x-tos-security-token"), int(expires))


def _claim(credential: str, signed_headers: str, signature: str, date: str, token: str | None,
           expires: int | None) -> Claim:
    access_key, _, scope = credential.partition("/")
    parts = scope.split("/")
    if len(parts) != 4 or parts[2:] != ["tos", "request"] or not access_key:
        raise TosError("AuthorizationHeaderMalformed", "the credential is not KEY/DATE/REGION/tos/request")
    if not re.fullmatch(r"\d{8}T\d{6}Z", date) or parts[0] != date[:8]:
        raise TosError("AuthorizationHeaderMalformed", "the date is not that of the credential")
    return Claim(access_key, scope, parts[1], tuple(signed_headers.split(";")), signature, date, token, expires)


def canonical_request(method: str, path: str, query: Query, headers: Mapping[str, str],
                      claimed: Claim) -> str:
    """The text whose digest is signed; `path` and `query` are decoded."""
    pairs = sorted(((name, value) for name, value in query if name.lower() != "x-tos-signature"),
                   key=lambda pair: pair[0])
    default = EMPTY_DIGEST if claimed.expires is None else UNSIGNED
    return "\n".join([
        method,
        encode(path, safe="/"),
        "&".join("%s=%s" % (encode(name), encode(value)) for name, value in pairs),
        "".join("%s:%s\n" % (name, headers.get(name, "").strip()) for name in claimed.signed_headers),
        ";".join(claimed.signed_headers),
        headers.get("x-tos-content-sha256", default),
    ])


def string_to_sign(canonical: str, claimed: Claim) -> str:
    """The text that is signed."""
    digest = hashlib.sha256(_bytes(canonical)).hexdigest()
    return "\n".join([ALGORITHM, claimed.date, claimed.scope, digest])


def signature(text: str, secret: str, claimed: Claim) -> str:
    """The signature of a text, in hexadecimal."""
    key = secret.encode()
    for step in claimed.scope.split("/"):
        key = hmac.digest(key, step.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


def is_signed(method: str, path: str, query: Query, headers: Mapping[str, str], claimed: Claim,
              secret: str) -> bool:
    """Whether the signature that is claimed is the one that the request and the secret give."""
    canonical = canonical_request(method, path, query, headers, claimed)
    return hmac.compare_digest(signature(string_to_sign(canonical, claimed), secret, claimed), claimed.signature)


def unsigned_headers(headers: Mapping[str, str], claimed: Claim) -> list[str]:
    """The headers that had to be signed and are not: `host` and every `x-tos-*`."""
    needed = {"host"} | {name for name in headers if name.startswith("x-tos-")}
    return sorted(needed - set(claimed.signed_headers))
