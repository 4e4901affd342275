"""This machine: the built program, and the metadata of an instance of the cloud."""

import os
import subprocess
import tempfile
import urllib.error
import urllib.request

from .probes import Finding, NotTried, probe

METADATA = os.environ.get("VOLCENGINE_ECS_METADATA_ENDPOINT", "http://100.96.0.96").rstrip("/")


@probe("it lists the object and fetches the same bytes")
def dipper_reads(place):
    """Does the built program read from this bucket?"""
    program = os.environ.get("DIPPER_BINARY") or os.path.join(
        os.path.dirname(__file__), "..", "..", ".build", "debug", "dipper")
    if not os.access(program, os.X_OK):
        raise NotTried("there is no built program; scripts/build makes one, DIPPER_BINARY names one")
    body = os.urandom((5 << 20) + 1)
    place.put("d/file", body)
    service = place.service
    url = "tos://%s/%s" % (service.bucket, place.key("d/"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TOS_", "VOLCENGINE_"))}
    environment.update({"TOS_ACCESS_KEY": service.keys.access_key, "TOS_SECRET_KEY": service.keys.secret_key,
                        "TOS_SECURITY_TOKEN": service.keys.token})
    place_options = ["--endpoint", "%s://%s" % (service.scheme, service.host), "--region", service.region]
    with tempfile.TemporaryDirectory() as directory:
        target = os.path.join(directory, "file")
        runs = [subprocess.run([program, *command, *place_options], env=environment, capture_output=True, text=True,
                               timeout=300, check=False)
                for command in (["ls", "-r", url], ["get", url + "file", target])]
        failed = next((run for run in runs if run.returncode), None)
        if failed:
            return Finding(False, "exit code %d: %s" % (failed.returncode, failed.stderr.strip()[:300]))
        with open(target, "rb") as file:
            is_same = file.read() == body
    return Finding(is_same and place.key("d/file") in runs[0].stdout.splitlines(),
                   "the same bytes" if is_same else "OTHER BYTES")


@probe("a token by PUT or GET, a list of roles in JSON or a line each, keys by GET with ExpiredTime")
def instance_metadata(place):
    """How does the metadata service of an instance answer?"""
    tokens = {}
    for method in ("PUT", "GET"):
        tokens[method] = metadata(method, "/latest/api/token", {"X-volc-ecs-metadata-token-ttl-seconds": "60"})
    if all(status is None for status, _ in tokens.values()):
        raise NotTried("nobody answers at %s" % METADATA)
    token = next((body.strip() for status, body in tokens.values() if status == 200), None)
    headers = {"X-volc-ecs-metadata-token": token} if token else {}
    status, roles = metadata("GET", "/volcstack/latest/iam/security_credentials?type=user", headers)
    shown = "token: %s; roles: %s %r" % (
        ", ".join("%s %s" % (method, status) for method, (status, _) in tokens.items()), status, roles[:200])
    if token is None and status != 200:
        raise NotTried("who answers at %s has no roles: %s" % (METADATA, shown))
    return Finding(status in (200, 404), shown)


def metadata(method, path, headers):
    request = urllib.request.Request(METADATA + path, None, headers, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=1) as answer:
            return answer.status, answer.read(65536).decode("utf-8", "replace")
    except urllib.error.HTTPError as refusal:
        return refusal.code, ""
    except OSError:
        return None, ""
