"""Buckets of the TOS gateway, as the vendor's own SDK and an S3 client behind the gateway see them."""

import contextlib
import json
import os
import urllib.request
import uuid

import tos

SERVERS = dict(
    pair.split("=", 1) for pair in os.environ.get("DIPPER_TEST_TOS_SERVERS", "").split(",") if "=" in pair
)
REGION = os.environ.get("DIPPER_TEST_TOS_REGION", "")
# The vendor's own name; the gateway is the HTTP proxy that requests to it go through.
ENDPOINT = "http://tos-%s.volces.com" % REGION


def port_of(url):
    return int(url.rsplit(":", 1)[1])


def sdk(url, key=None, secret=None, token=None, **options):
    """A client of the SDK that reaches the service at this address; it tries once, unless told otherwise."""
    return tos.TosClientV2(
        os.environ["AWS_ACCESS_KEY_ID"] if key is None else key,
        os.environ["AWS_SECRET_ACCESS_KEY"] if secret is None else secret,
        ENDPOINT, REGION, security_token=token, proxy_host="127.0.0.1", proxy_port=port_of(url),
        dns_cache_time=0, **{"max_retry_count": 0, **options})


def ask(url, method, path, values=None):
    """Asks the gateway for what only tests ask, below `/-/`; gives its answer."""
    body = None if values is None else json.dumps(values).encode()
    request = urllib.request.Request(url + "/-/" + path, body, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.loads(answer.read() or b"null")


class TosBucket:
    """A fresh bucket behind one gateway: `settings` as its admin address takes them."""

    def __init__(self, server, s3, **settings):
        self.server = server
        self.endpoint = SERVERS[server]
        self.name = "t" + uuid.uuid4().hex[:16]
        self.url = "tos://" + self.name
        self.tos = sdk(self.endpoint)
        # What an S3 client behind the gateway sees.
        self.s3 = s3
        self.set(**settings)

    def set(self, **settings):
        ask(self.endpoint, "PUT", "buckets/" + self.name, settings)

    def counts(self):
        return ask(self.endpoint, "GET", "counts/" + self.name)

    def put(self, key, body=b"", **facts):
        return self.tos.put_object(self.name, key, content=body, **facts)

    def get(self, key, **facts):
        return self.tos.get_object(self.name, key, **facts).read()

    def head(self, key, **facts):
        return self.tos.head_object(self.name, key, **facts)

    def keys(self, prefix="", **facts):
        return [one.key for one in self.tos.list_objects_type2(self.name, prefix=prefix, **facts).contents]

    def clear(self):
        """Takes the bucket and all it holds away, if the test hasn't."""
        with contextlib.suppress(self.s3.exceptions.NoSuchBucket):
            for page in self.s3.get_paginator("list_object_versions").paginate(Bucket=self.name):
                for entry in page.get("Versions", []) + page.get("DeleteMarkers", []):
                    self.s3.delete_object(Bucket=self.name, Key=entry["Key"], VersionId=entry["VersionId"])
            self.s3.delete_bucket(Bucket=self.name)


@contextlib.contextmanager
def refused(code, status, ec=None):
    """The service refuses with this code, status and EC."""
    try:
        yield
    except tos.exceptions.TosServerError as failure:
        # A HEAD has no body, so no code.
        told = (failure.code or code, failure.status_code, failure.header.get("x-tos-ec"))
        assert told == (code, status, ec or told[2]), failure
        assert failure.request_id and failure.id2, failure
    else:
        raise AssertionError("it was not refused")
