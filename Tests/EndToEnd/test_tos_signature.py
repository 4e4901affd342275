"""The gateway's reading of TOS4 signatures and its CRC-64, against values from elsewhere."""

import hashlib
import json
import os
from urllib.parse import urlsplit

import pytest

from conftest import ROOT
from tos_gateway import crc64, signature
from tos_gateway.wire import address, decode_path, decode_query

with open(os.path.join(ROOT, "Tests", "StoreWireTests", "Fixtures", "tos-vectors.json")) as file:
    VECTORS = json.load(file)
SECRET = "SKTESTEXAMPLE"
DATE = "20260314T092653Z"
SCOPE = "20260314/cn-beijing/tos/request"


def taken_apart(vector):
    """The request of a vector: method, decoded path, query, headers."""
    url = urlsplit(vector["url"])
    headers = {name.lower(): value for name, value in vector["headers"].items()}
    headers.setdefault("host", url.netloc)
    if "authorization" not in headers and "X-Tos-Signature" not in url.query:
        names = ";".join(name for name in sorted(headers) if name == "host" or name.startswith("x-tos-"))
        headers["authorization"] = "TOS4-HMAC-SHA256 Credential=AKTESTEXAMPLE/%s,SignedHeaders=%s,Signature=%s" % (
            SCOPE, names, vector["signature"])
    return vector["method"], decode_path(url.path), decode_query(url.query), headers


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_requests_that_the_sdk_signed_are_signed_rightly(vector):
    method, path, query, headers = taken_apart(vector)
    claimed = signature.claim(headers, query)
    canonical = signature.canonical_request(method, path, query, headers, claimed)
    assert canonical == vector["canonical"]
    assert signature.string_to_sign(canonical, claimed) == vector["sts"]
    assert signature.is_signed(method, path, query, headers, claimed, SECRET)
    assert signature.unsigned_headers(headers, claimed) == []


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_request_that_was_changed_after_it_was_signed_is_not(vector):
    method, path, query, headers = taken_apart(vector)
    claimed = signature.claim(headers, query)
    others = [
        ("PATCH", path, query, headers, SECRET),
        (method, path + "x", query, headers, SECRET),
        (method, path, [*query, ("x", "")], headers, SECRET),
        (method, path, query, {**headers, "host": "other.tos-cn-beijing.volces.com"}, SECRET),
        (method, path, query, {**headers, "x-tos-content-sha256": "0" * 64}, SECRET),
        (method, path, query, headers, SECRET + "x"),
    ]
    for *request, secret in others:
        assert not signature.is_signed(*request, claimed, secret), request


KNOWN = [
    ("GET", "https://examplebucket.tos-cn-beijing.volces.com/exampleobject", "20220101T000000Z", "cn-beijing",
     {"x-tos-content-sha256": hashlib.sha256(b"").hexdigest()},
     "d40b66cf0054d1642843670d10fa095e1609c7896f25df217770b0abe717693b"),
    ("GET", "https://bucket.tos-cn-beijing.volces.com/?list-type=2&prefix=abc&delimiter=%2F&max-keys=5"
     "&continuation-token=whvFnl2rE5vm9cWvQSgxwpc7QXHY7dgUGQ7nxlsVxFymg2%2BK227j5IHQZ32h", "20260203T122412Z",
     "cn-beijing", {}, "db01ee877fa24847ec042703353a76a0e11bd9b6ce68eabe5ccb2924420156b0"),
]


@pytest.mark.parametrize("method, url, date, region, headers, known", KNOWN)
def test_the_known_answers_of_an_independent_signer(method, url, date, region, headers, known):
    parts = urlsplit(url)
    headers = {"host": parts.netloc, "x-tos-date": date, **headers}
    headers["authorization"] = "TOS4-HMAC-SHA256 Credential=testAK/%s/%s/tos/request, SignedHeaders=%s, Signature=%s" % (
        date[:8], region, ";".join(sorted(headers)), known)
    query = decode_query(parts.query)
    claimed = signature.claim(headers, query)
    assert signature.is_signed(method, decode_path(parts.path), query, headers, claimed, "testSK")


def test_headers_of_the_service_must_be_signed():
    headers = {"host": "h", "x-tos-date": DATE, "x-tos-acl": "private", "range": "bytes=0-1",
               "authorization": "TOS4-HMAC-SHA256 Credential=K/%s,SignedHeaders=host;x-tos-date,Signature=0" % SCOPE}
    assert signature.unsigned_headers(headers, signature.claim(headers, [])) == ["x-tos-acl"]


@pytest.mark.parametrize("data, crc", [
    (b"", 0), (b"123456789", 11051210869376104954), (b"hello", 11177612005948864433),
    (b"\0", 2282658103124508505), (bytes(32), 14509182247117337356), (bytes(range(256)), 8232944260754389680)])
def test_checksums_are_those_of_the_sdk(data, crc):
    assert crc64.of(data) == crc
    for cut in range(len(data)):
        assert crc64.of(data[cut:], crc64.of(data[:cut])) == crc
        assert crc64.combined(crc64.of(data[:cut]), crc64.of(data[cut:]), len(data) - cut) == crc


@pytest.mark.parametrize("host, path, expected", [
    ("b.tos-cn-beijing.volces.com", "/k/x", ("b", "k/x")),
    ("tos-x.tos-cn-beijing.localhost:80", "/tos-x/k", ("tos-x", "tos-x/k")),
    ("b.tos-ap-southeast-1.bytepluses.com", "//k", ("b", "/k")),
    ("tos-cn-beijing.ivolces.com", "/", ("", "")),
    ("127.0.0.1:8080", "/b/k/x", ("b", "k/x")), ("127.0.0.1:8080", "/b", ("b", "")), ("127.0.0.1", "/", ("", ""))])
def test_bucket_and_key_come_from_the_host_or_at_an_address_from_the_path(host, path, expected):
    assert address(host, path) == expected
