"""Who is let in by the TOS gateway: signatures, tokens, clocks, signed URLs, public buckets."""

import uuid
from datetime import datetime, timedelta, timezone

import pytest
import requests
from tos.enum import HttpMethodType
from tos.models2 import GenericInput

from conftest import wait_for
from tos_bucket import ask, refused, sdk


def key(bucket, **facts):
    """A new access key of the gateway, and a client that has it."""
    name = "K" + uuid.uuid4().hex
    ask(bucket.endpoint, "PUT", "keys/" + name, {"secret": "s", **facts})
    return name, sdk(bucket.endpoint, name, "s", facts.get("token"))


def attempts(client, bucket):
    """One request of each kind: with a body, without one, to the bucket."""
    return [lambda: client.put_object(bucket.name, "k", content=b"x" * 200_000),
            lambda: client.get_object(bucket.name, "k"), lambda: client.head_object(bucket.name, "k"),
            lambda: client.list_objects_type2(bucket.name), lambda: client.head_bucket(bucket.name)]


def test_a_wrong_secret_and_an_unknown_key_are_refused(tos_bucket):
    tos_bucket.put("k", b"x")
    for attempt in attempts(sdk(tos_bucket.endpoint, secret="wrong"), tos_bucket):
        with refused("SignatureDoesNotMatch", 403, "0002-00000201"):
            attempt()
    for attempt in attempts(sdk(tos_bucket.endpoint, key="NOBODY"), tos_bucket):
        with refused("InvalidAccessKeyId", 403):
            attempt()
    assert tos_bucket.get("k") == b"x"


@pytest.mark.parametrize("minutes", [-60, -16, 16, 60])
def test_a_clock_that_is_off_is_refused(tos_bucket, minutes):
    tos_bucket.put("k", b"x")
    date = datetime.now(timezone.utc) + timedelta(minutes=minutes)
    with refused("RequestTimeTooSkewed", 403):
        tos_bucket.tos.get_object(tos_bucket.name, "k", generic_input=GenericInput(request_date=date))
    date = datetime.now(timezone.utc) + timedelta(minutes=minutes / 16 * 0.8 if abs(minutes) == 16 else 0)
    tos_bucket.tos.get_object(tos_bucket.name, "k", generic_input=GenericInput(request_date=date))


def test_a_temporary_key_needs_its_token_and_ends(tos_bucket):
    tos_bucket.put("k", b"x")
    name, client = key(tos_bucket, token="T+/=")
    assert client.get_object(tos_bucket.name, "k").read() == b"x"
    for token in (None, "other"):
        with refused("InvalidSecurityToken", 403):
            sdk(tos_bucket.endpoint, name, "s", token).get_object(tos_bucket.name, "k")
    ask(tos_bucket.endpoint, "PUT", "keys/" + name, {"secret": "s", "token": "T+/=", "expires_in": 0})
    for attempt in attempts(client, tos_bucket):
        with refused("ExpiredToken", 403):
            attempt()


def test_a_key_may_be_denied_operations(tos_bucket):
    tos_bucket.set(rename=True)
    tos_bucket.put("k", b"x")
    _, client = key(tos_bucket, denied=["RenameObject"])
    with refused("AccessDenied", 403):
        client.rename_object(tos_bucket.name, "k", "to")
    assert client.get_object(tos_bucket.name, "k").read() == b"x"


def through(bucket, method, url, **facts):
    """A request without a client's help, through the gateway as a proxy."""
    return requests.request(method, url, proxies={"http": bucket.endpoint}, timeout=30, **facts)


def test_signed_urls_are_good_for_what_they_were_signed(tos_bucket):
    name = tos_bucket.name
    put = tos_bucket.tos.pre_signed_url(HttpMethodType.Http_Method_Put, name, "a +ü", header={"x-tos-meta-a": "1"})
    assert through(tos_bucket, "PUT", put.signed_url, data=b"data", headers={"x-tos-meta-a": "1"}).status_code == 200
    assert tos_bucket.head("a +ü").meta == {"a": "1"}
    get = tos_bucket.tos.pre_signed_url(HttpMethodType.Http_Method_Get, name, "a +ü").signed_url
    assert through(tos_bucket, "GET", get).content == b"data"
    assert through(tos_bucket, "GET", get, headers={"range": "bytes=1-2"}).content == b"at"
    for method, url, headers in (("PUT", get, {}), ("GET", get.replace(".volces", "x.volces", 1), {}),
                                 ("GET", get + "&versionId=1", {}), ("PUT", put.signed_url, {"x-tos-meta-a": "2"})):
        answer = through(tos_bucket, method, url, headers=headers)
        assert (answer.status_code, answer.json()["Code"]) in ((403, "SignatureDoesNotMatch"), (403, "InvalidPathAccess"),
                                                              (404, "NoSuchBucket")), url
    answer = through(tos_bucket, "GET", get, headers={"x-tos-acl": "private"})
    assert (answer.status_code, answer.json()["Code"]) == (403, "AccessDenied"), "a header of the service was not signed"
    assert tos_bucket.get("a +ü") == b"data"


def test_a_signed_url_ends(tos_bucket):
    tos_bucket.put("k", b"x")
    url = tos_bucket.tos.pre_signed_url(HttpMethodType.Http_Method_Get, tos_bucket.name, "k", expires=1).signed_url

    def has_ended():
        answer = through(tos_bucket, "GET", url)
        return answer.status_code == 403 and answer.json()["Code"] == "AccessDenied"

    wait_for(has_ended, "the end of the URL")
    url = tos_bucket.tos.pre_signed_url(HttpMethodType.Http_Method_Get, tos_bucket.name, "k", expires=700_000).signed_url
    assert through(tos_bucket, "GET", url).status_code == 400


def test_only_what_is_public_is_open_to_all(tos_bucket):
    tos_bucket.put("k", b"x")
    nobody = sdk(tos_bucket.endpoint, "", "")
    with refused("AccessDenied", 403):
        nobody.list_buckets()
    for attempt in attempts(nobody, tos_bucket):
        with refused("AccessDenied", 403):
            attempt()
    tos_bucket.set(acl="public-read")
    assert nobody.get_object(tos_bucket.name, "k").read() == b"x"
    assert [one.key for one in nobody.list_objects_type2(tos_bucket.name).contents] == ["k"]
    with refused("AccessDenied", 403):
        nobody.put_object(tos_bucket.name, "k", content=b"y")
    with refused("AccessDenied", 403):
        nobody.delete_object(tos_bucket.name, "k")
    tos_bucket.set(acl="public-read-write")
    nobody.put_object(tos_bucket.name, "k", content=b"y")
    assert tos_bucket.get("k") == b"y"
