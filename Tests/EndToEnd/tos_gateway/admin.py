"""What tests, and nobody else, ask of the gateway: below `/-/` at its address as a number.

    PUT    /-/buckets/NAME        makes a bucket if there is none, and sets what the JSON body says:
                                  {"type": "hns", "rename": true, "clock_offset": 7200.0, ...}
    GET    /-/buckets/NAME        its settings
    GET    /-/counts/NAME         requests by operation, errors by code, object bytes of a bucket
    PUT    /-/keys/NAME           an access key: {"secret": ..., "token": ..., "expires_in": 60,
                                  "denied": ["RenameObject"]}
    DELETE /-/keys/NAME
    POST   /-/proxies             a proxy with faults in front of the gateway: {"rules": [...]} as in
                                  `weather.py`; answers {"id": ..., "url": ...}
    PUT    /-/proxies/ID          other rules: {"rules": [...], "offline": false}
    GET    /-/proxies/ID          its rules and the log of its requests
    DELETE /-/proxies/ID

Nothing of it is signed: the gateway listens on loopback for the length of a test.
"""

from __future__ import annotations

import dataclasses
import json
import re
import threading
import time
from typing import Any

from weather import Proxy

from .access import AccessKey
from .errors import TosError
from .service import Service
from .wire import Body, Response

ROOT = "/-/"
BODY_MAX = 1 << 20


class Proxies:
    """The proxies that tests asked for."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._proxies: dict[str, Proxy] = {}
        self._lock = threading.Lock()

    def add(self) -> tuple[str, Proxy]:
        proxy = Proxy(self._url)
        with self._lock:
            id = str(len(self._proxies) + 1)
            self._proxies[id] = proxy
        return id, proxy

    def get(self, id: str) -> Proxy:
        with self._lock:
            proxy = self._proxies.get(id)
        if proxy is None:
            raise TosError("InvalidArgument", "there is no proxy " + id, status=404)
        return proxy

    def close(self) -> None:
        with self._lock:
            for proxy in self._proxies.values():
                proxy.close()


def is_admin(host: str, path: str) -> bool:
    """Whether a request is a test's; under a host of the service `/-/` begins a key."""
    return path.startswith(ROOT) and re.fullmatch(r"\d+\.\d+\.\d+\.\d+(:\d+)?", host) is not None


def answer(service: Service, proxies: Proxies, method: str, path: str, body: Body) -> Response:
    parts = path.removeprefix(ROOT).split("/", 1)
    kind, name = parts[0], parts[1] if len(parts) > 1 else ""
    values = _values(body)
    if kind == "buckets" and name and method in ("GET", "PUT"):
        return _bucket(service, name, values if method == "PUT" else None)
    if kind == "counts" and name and method == "GET":
        return Response.of_json(service.counters.of(name))
    if kind == "keys" and name and method in ("PUT", "DELETE"):
        return _key(service, name, values if method == "PUT" else None)
    if kind == "proxies":
        return _proxy(proxies, method, name, values)
    raise TosError("InvalidArgument", "there is no such request below " + ROOT, status=404)


def _values(body: Body) -> dict[str, Any]:
    data = b""
    while piece := body.read(BODY_MAX):
        data += piece
    try:
        values = json.loads(data or b"{}")
    except ValueError as failure:
        raise TosError("MalformedBody") from failure
    if not isinstance(values, dict):
        raise TosError("MalformedBody")
    return values


def _bucket(service: Service, name: str, values: dict[str, Any] | None) -> Response:
    if values is not None and not service.backend.has_bucket(name):
        service.buckets.create(name)
    bucket = service.buckets.get(name)
    if values is not None:
        bucket.set(values)
    return Response.of_json(dataclasses.asdict(bucket))


def _key(service: Service, name: str, values: dict[str, Any] | None) -> Response:
    if values is None:
        service.keys.remove(name)
        return Response(204)
    try:
        ends = time.time() + float(values["expires_in"]) if "expires_in" in values else None
        key = AccessKey(str(values["secret"]), values.get("token"), ends, frozenset(values.get("denied", [])))
    except (KeyError, TypeError, ValueError) as failure:
        raise TosError("MalformedBody") from failure
    service.keys.put(name, key)
    return Response()


def _proxy(proxies: Proxies, method: str, id: str, values: dict[str, Any]) -> Response:
    if method == "POST" and not id:
        id, proxy = proxies.add()
    else:
        proxy = proxies.get(id)
    if method in ("POST", "PUT"):
        rules = values.get("rules", [])
        if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
            raise TosError("MalformedBody")
        if values.get("offline", False):
            proxy.go_offline()
        else:
            proxy.go_online()
        proxy.rules = rules
    elif method == "DELETE":
        proxy.close()
        return Response(204)
    with proxy.lock:
        entries = [dict(entry) for entry in proxy.log]
    return Response.of_json({"id": id, "url": proxy.url, "rules": proxy.rules, "log": entries})
