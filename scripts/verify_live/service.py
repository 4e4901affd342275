"""TOS as raw requests and answers: nothing is retried, nothing is hidden."""

import hashlib
import hmac
import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field

EMPTY = hashlib.sha256(b"").hexdigest()


class Unreachable(Exception):
    """No answer came."""


@dataclass
class Answer:
    status: int
    # By lower-case name.
    headers: dict
    body: bytes

    @property
    def document(self):
        """The body as JSON; empty if it is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def code(self):
        return self.document.get("Code", "")

    @property
    def is_success(self):
        return 200 <= self.status < 300

    def __str__(self):
        """What to show of it: the status, the code and the EC."""
        facts = [str(self.status), self.code, self.headers.get("x-tos-ec", "")]
        return " ".join(fact for fact in facts if fact)


@dataclass
class Keys:
    access_key: str
    secret_key: str
    token: str = ""


@dataclass
class Service:
    """A bucket at an endpoint."""

    scheme: str
    host: str
    region: str
    bucket: str
    keys: Keys
    # The bucket begins the path, as stand-ins have it, rather than the host.
    has_path_style: bool = False
    # A request is under way; then an interruption waits for its answer, so that what it wrote is known.
    is_asking: bool = False
    is_interrupted: bool = False
    # Requests whose answers nobody has read; what they asked for may still be done.
    unanswered_count: int = 0
    opener: urllib.request.OpenerDirector = field(default_factory=lambda: urllib.request.build_opener(NoRedirect))

    def interrupt(self):
        """Raises KeyboardInterrupt, at once or when the request that is under way has its answer."""
        if not self.is_asking:
            raise KeyboardInterrupt
        self.is_interrupted = True

    def ask(self, method, key="", query=None, headers=None, body=b"", *, offset=0, region=None,
            keys=None, path_style=None, timeout=120):
        """Sends one request, signed as of `offset` seconds from now, and gives its answer, whatever it is."""
        path_style = self.has_path_style if path_style is None else path_style
        host = self.host if path_style else "%s.%s" % (self.bucket, self.host)
        path = "/" + (self.bucket + "/" if path_style else "") + quote(key, "/")
        fields = {"x-tos-content-sha256": "UNSIGNED-PAYLOAD"}
        if method in ("PUT", "POST"):
            fields.update({"content-type": "application/octet-stream", "content-length": str(len(body))})
        fields.update({name.lower(): value for name, value in (headers or {}).items()})
        pairs = sorted((quote(name), quote(value)) for name, value in (query or {}).items())
        sign(method, host, path, pairs, fields, keys or self.keys, region or self.region, time.time() + offset)
        url = "%s://%s%s%s" % (self.scheme, host, path, "?" + "&".join(map("=".join, pairs)) if pairs else "")
        request = urllib.request.Request(url, body if method in ("PUT", "POST") else None, fields, method=method)
        self.is_asking = True
        self.unanswered_count += 1
        try:
            answer = self.send(request, timeout)
            self.unanswered_count -= 1
        except (OSError, http.client.HTTPException) as failure:
            raise Unreachable("%s %s: %s" % (method, url.split("?")[0], failure)) from None
        finally:
            self.is_asking = False
            if self.is_interrupted:
                self.is_interrupted = False
                raise KeyboardInterrupt
        return answer

    def send(self, request, timeout):
        try:
            with self.opener.open(request, timeout=timeout) as answer:
                return self.read(answer)
        except urllib.error.HTTPError as refusal:
            with refusal:
                return self.read(refusal)

    @staticmethod
    def read(answer):
        return Answer(answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.read())


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer like others."""

    def redirect_request(self, *_):
        return None


def quote(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-_.~")


def sign(method, host, path, pairs, fields, keys, region, moment):
    """Adds a TOS4 signature to `fields`."""
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(moment))
    fields["x-tos-date"] = now
    if keys.token:
        fields["x-tos-security-token"] = keys.token
    covered = {name: value for name, value in fields.items() if name.startswith("x-tos-") or name == "content-type"}
    covered["host"] = host
    names = ";".join(sorted(covered))
    canonical = "\n".join([
        method, path, "&".join("=".join(pair) for pair in pairs),
        "".join("%s:%s\n" % (name, covered[name].strip()) for name in sorted(covered)), names,
        fields.get("x-tos-content-sha256", EMPTY)])
    scope = "%s/%s/tos/request" % (now[:8], region)
    text = "\n".join(["TOS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    secret = keys.secret_key.encode()
    for word in (now[:8], region, "tos", "request", text):
        secret = hmac.new(secret, word.encode(), hashlib.sha256).digest()
    fields["authorization"] = "TOS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s" % (
        keys.access_key, scope, names, secret.hex())
