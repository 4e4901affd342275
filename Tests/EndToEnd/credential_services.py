"""Stand-ins for the services that hand out credentials: instance metadata, a container's agent, STS.

One server has all three. What it issues ends after `lifetime` seconds; `Gatekeeper` is a proxy that
refuses what has ended, as a store does.
"""

import json
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from tos_bucket import ask
from weather import Proxy

EXPIRED = "<Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message><RequestId>E1</RequestId></Error>"


class CredentialServer:
    def __init__(self, lifetime=4, host="127.0.0.1"):
        self.lifetime = lifetime
        self.issued = {}
        self.secrets = []
        self.asked = []
        self.is_down = False
        self.agent_token = "agent-" + uuid.uuid4().hex
        self.session_token = "session-" + uuid.uuid4().hex
        self.server = ThreadingHTTPServer((host, 0), self.handler())
        self.url = "http://%s:%d" % (host, self.server.server_port)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def issue(self):
        """New credentials: id, secret, token, and when they end."""
        end = int(time.time()) + self.lifetime
        token = "TOKEN" + uuid.uuid4().hex
        secret = "SECRET" + uuid.uuid4().hex
        self.issued[token] = end
        self.secrets += [token, secret]
        return "ASIA" + uuid.uuid4().hex[:12].upper(), secret, token, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(end))

    def is_good(self, token):
        return time.time() < self.issued.get(token, 0)

    def document(self, **more):
        key, secret, token, end = self.issue()
        return json.dumps({"AccessKeyId": key, "SecretAccessKey": secret, "Token": token,
                           "SessionToken": token, "Expiration": end, **more})

    def handler(self):
        services = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, status, text=""):
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def handle_request(self):
                services.asked.append((self.command, self.path))
                if services.is_down:
                    self.answer(500)
                    return True
                return False

            def do_PUT(self):
                if self.handle_request():
                    return
                is_token = self.path == "/latest/api/token" and self.headers["x-aws-ec2-metadata-token-ttl-seconds"]
                self.answer(200, services.session_token) if is_token else self.answer(400)

            def do_GET(self):
                if self.handle_request():
                    return
                roles = "/latest/meta-data/iam/security-credentials/"
                if self.path == "/container":
                    is_known = self.headers["authorization"] == services.agent_token
                    self.answer(200, services.document()) if is_known else self.answer(401)
                elif self.headers["x-aws-ec2-metadata-token"] != services.session_token:
                    self.answer(401)
                elif self.path == roles:
                    self.answer(200, "the-role")
                elif self.path == roles + "the-role":
                    self.answer(200, services.document(Code="Success"))
                else:
                    self.answer(404)

            def do_POST(self):
                form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
                if self.handle_request():
                    return
                if form.get("WebIdentityToken") != ["web." + services.agent_token]:
                    self.answer(400, "<ErrorResponse><Error><Code>InvalidIdentityToken</Code></Error></ErrorResponse>")
                    return
                key, secret, token, end = services.issue()
                self.answer(200, (
                    '<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">'
                    "<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>%s</AccessKeyId>"
                    "<SecretAccessKey>%s</SecretAccessKey><SessionToken>%s</SessionToken><Expiration>%s</Expiration>"
                    "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
                ) % (key, secret, token, end))

        return Handler


class VolcengineServices(CredentialServer):
    """Stand-ins for Volcengine's STS and instance metadata; what they issue opens the TOS gateway at `gateway`."""

    ROLES = "/volcstack/latest/iam/security_credentials"

    def __init__(self, gateway, lifetime=4, has_tokens=True):
        self.gateway = gateway
        self.has_tokens = has_tokens
        super().__init__(lifetime)

    def keys(self, name):
        """New credentials as a document; `name` is what their end is called."""
        key, secret, token, end = self.issue()
        ask(self.gateway, "PUT", "keys/" + key, {"secret": secret, "token": token,
                                                 "expires_in": self.issued[token] - time.time()})
        return {"AccessKeyId": key, "SecretAccessKey": secret, "SessionToken": token, name: end}

    def handler(self):
        services = self

        class Handler(super().handler()):
            def token(self):
                if self.handle_request():
                    return
                is_asked = services.has_tokens and self.headers["x-volc-ecs-metadata-token-ttl-seconds"]
                self.answer(200, services.session_token) if is_asked else self.answer(404)

            def do_PUT(self):
                self.token()

            def do_GET(self):
                if self.path == "/latest/api/token":
                    self.token()
                    return
                if self.handle_request():
                    return
                expected = services.session_token if services.has_tokens else None
                if self.headers["x-volc-ecs-metadata-token"] != expected:
                    self.answer(401)
                elif self.path == services.ROLES + "?type=user":
                    self.answer(200, '["the-role"]')
                elif self.path == services.ROLES + "/the-role":
                    self.answer(200, json.dumps(services.keys("ExpiredTime")))
                else:
                    self.answer(404)

            def do_POST(self):
                form = parse_qs(self.rfile.read(int(self.headers["content-length"])).decode())
                if self.handle_request():
                    return
                is_right = (self.path == "/?Action=AssumeRoleWithOIDC&Version=2018-01-01"
                            and form.get("OIDCToken") == ["web." + services.agent_token]
                            and form.get("RoleTrn") == ["trn:iam::1:role/r"])
                if not is_right:
                    self.answer(400, json.dumps({"ResponseMetadata": {"RequestId": "R1", "Error": {
                        "Code": "InvalidOIDCToken", "Message": "the token is %s" % form.get("OIDCToken")}}}))
                    return
                self.answer(200, json.dumps({"ResponseMetadata": {"RequestId": "R2"},
                                             "Result": {"Credentials": services.keys("Expiration")}}))

        return Handler


class Gatekeeper(Proxy):
    """A store's door: it refuses requests whose token wasn't issued or has ended."""

    def __init__(self, upstream, services):
        self.services = services
        self.refused = 0
        super().__init__(upstream)

    def _match(self, entry):
        if self.services.is_good(entry["headers"].get("x-amz-security-token")):
            return super()._match(entry)
        self.refused += 1
        return {"status": 400, "body": EXPIRED}
