"""Faults in front of the TOS gateway, and what the vendor's own SDK makes of them."""

import json
import socket
import time
import urllib.error

import pytest
import tos

from tos_bucket import ask, refused, sdk
from weather import Proxy


def failure(status, code, **headers):
    """What a rule answers with an error, as the service writes it."""
    body = {"Code": code, "Message": "no", "RequestId": "R", "HostId": "H", "EC": "0001-00000000"}
    return {"status": status, "body": json.dumps(body), "headers": {"x-tos-request-id": "R", "x-tos-id-2": "R", **headers}}


@pytest.fixture
def weather(tos_bucket):
    """A proxy in front of the gateway."""
    proxy = Proxy(tos_bucket.endpoint)
    yield proxy
    proxy.close()


def test_a_throttled_request_waits_as_long_as_it_is_told(tos_bucket, weather):
    tos_bucket.put("k", b"x")
    weather.rules = [{**failure(429, "ExceedBucketQPSLimit", **{"retry-after": "1"}), "times": 1}]
    begin = time.monotonic()
    assert sdk(weather.url, max_retry_count=1).get_object(tos_bucket.name, "k").read() == b"x"
    assert time.monotonic() - begin >= 1 and len(weather.log) == 2
    weather.rules[0]["times"] = 1
    with refused("ExceedBucketQPSLimit", 429):
        sdk(weather.url).get_object(tos_bucket.name, "k")


@pytest.mark.parametrize("operation", ["copy", "part copy"])
def test_an_error_that_hides_in_an_answer_200_is_one(tos_bucket, weather, operation):
    tos_bucket.put("k", b"x")
    client, name = sdk(weather.url), tos_bucket.name
    upload = client.create_multipart_upload(name, "to").upload_id
    weather.rules = [{**failure(200, "InternalError"), "method": "PUT", "headers": "x-tos-copy-source:"}]
    with pytest.raises(tos.exceptions.TosServerError) as caught:
        if operation == "copy":
            client.copy_object(name, "to", name, "k")
        else:
            client.upload_part_copy(name, "to", upload, 1, name, "k")
    assert (caught.value.status_code, caught.value.code) == (200, "InternalError")
    assert tos_bucket.keys() == ["k"]


def test_a_lost_answer_is_one_to_something_that_was_done(tos_bucket, weather):
    client, name = sdk(weather.url), tos_bucket.name
    upload = client.create_multipart_upload(name, "k").upload_id
    part = client.upload_part(name, "k", upload, 1, content=b"data")
    weather.rules = [{"lose_answer": True, "times": 1}]
    with pytest.raises(tos.exceptions.TosClientError):
        client.complete_multipart_upload(name, "k", upload, [part])
    assert tos_bucket.get("k") == b"data"
    with refused("NoSuchUpload", 404):
        client.complete_multipart_upload(name, "k", upload, [part])


def test_bodies_pass_the_proxy_that_the_client_holds_back(tos_bucket, weather):
    # Above 64 KiB the SDK says that it would be told to go on, and goes on without.
    data = bytes(300_000)
    sdk(weather.url).put_object(tos_bucket.name, "k", content=data)
    assert weather.log[0]["headers"]["expect"] == "100-continue" and tos_bucket.get("k") == data

    tos_bucket.set(acl="public-read-write")
    with socket.create_connection(("127.0.0.1", weather.port), timeout=10) as patient:
        patient.sendall(b"PUT /%s/k HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n"
                        % tos_bucket.name.encode())
        answers = patient.makefile("rb")
        assert b" 100 " in answers.readline() and answers.readline() == b"\r\n"
        patient.sendall(b"data")
        assert b" 200 " in answers.readline()
    assert tos_bucket.get("k") == b"data"


@pytest.mark.parametrize("rule", [{"reset_after": 1000}, {"truncate_after": 1000}, {"reset_before": True}])
def test_a_broken_answer_is_noticed(tos_bucket, weather, rule):
    tos_bucket.put("k", bytes(10_000))
    weather.rules = [rule]
    with pytest.raises(Exception) as caught:
        sdk(weather.url).get_object(tos_bucket.name, "k").read()
    assert not isinstance(caught.value, tos.exceptions.TosServerError)


def test_a_proxy_can_be_asked_for_over_http(tos_bucket):
    tos_bucket.put("k", b"x")
    rule = {**failure(503, "ServiceUnavailable"), "method": "GET", "path": "/k$", "times": 1}
    proxy = ask(tos_bucket.endpoint, "POST", "proxies", {"rules": [rule]})
    with refused("ServiceUnavailable", 503):
        sdk(proxy["url"]).get_object(tos_bucket.name, "k")
    assert sdk(proxy["url"]).get_object(tos_bucket.name, "k").read() == b"x"
    seen = ask(tos_bucket.endpoint, "GET", "proxies/" + proxy["id"])
    assert [entry["status"] for entry in seen["log"]] == [503, 200] and seen["rules"][0]["times"] == 0
    ask(tos_bucket.endpoint, "PUT", "proxies/" + proxy["id"], {"offline": True})
    with pytest.raises(tos.exceptions.TosClientError):
        sdk(proxy["url"]).head_object(tos_bucket.name, "k")
    ask(tos_bucket.endpoint, "PUT", "proxies/" + proxy["id"])
    assert sdk(proxy["url"]).head_object(tos_bucket.name, "k").content_length == 1
    ask(tos_bucket.endpoint, "DELETE", "proxies/" + proxy["id"])


@pytest.mark.parametrize("path, values", [
    ("buckets/abc-1", {"nonsense": 1}), ("buckets/abc-1", {"type": "tree"}), ("buckets/abc-1", {"rename": "yes"}),
    ("keys/K", {}), ("nothing/x", {}), ("proxies/999", {})])
def test_what_a_test_asks_wrongly_is_refused(tos_bucket, path, values):
    with pytest.raises(urllib.error.HTTPError):
        ask(tos_bucket.endpoint, "PUT", path.replace("abc-1", tos_bucket.name), values)
