"""Buckets of the TOS gateway, what it counts, what it refuses."""

import http.client
import io

from tos.models2 import GenericInput

from conftest import wait_for
from tos_bucket import REGION, port_of, refused


def test_buckets(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    head = client.head_bucket(name)
    assert (head.region, head.bucket_type) == (REGION, "fns")
    assert client.get_bucket_location(name).region == REGION
    assert client.get_bucket_info(name).bucket_info.bucket_type == "fns"
    assert name in [bucket.name for bucket in client.list_buckets().buckets]
    with refused("BucketAlreadyOwnedByYou", 409):
        client.create_bucket(name)
    tos_bucket.put("k")
    with refused("BucketNotEmpty", 409):
        client.delete_bucket(name)
    client.delete_object(name, "k")
    client.delete_bucket(name)
    for attempt in (lambda: client.head_bucket(name), lambda: tos_bucket.put("k"), lambda: tos_bucket.get("k"),
                    lambda: tos_bucket.keys(), lambda: tos_bucket.head("k")):
        with refused("NoSuchBucket", 404, "0006-00000001"):
            attempt()


def test_counts_are_those_of_the_bucket_alone(tos_bucket):
    data = bytes(100_000)
    tos_bucket.put("k", io.BytesIO(data))
    tos_bucket.get("k", range_start=10, range_end=19)
    tos_bucket.get("k")
    tos_bucket.keys()
    tos_bucket.tos.copy_object(tos_bucket.name, "to", tos_bucket.name, "k")
    with refused("NoSuchKey", 404):
        tos_bucket.get("none")
    expected = {
        "requests": {"PutObject": 1, "GetObject": 3, "ListObjectsType2": 1, "CopyObject": 1},
        "errors": {"NoSuchKey": 1}, "bytes_received": 100_000, "bytes_sent": 100_010}
    # A request is counted when its answer is out, which is after the client has it.
    wait_for(lambda: tos_bucket.counts() == expected, "the gateway to have counted")


def test_what_the_gateway_does_not_know_is_refused(tos_bucket):
    with refused("NotImplemented", 501):
        tos_bucket.tos.get_bucket_cors(tos_bucket.name)
    for facts in ({"callback": "e30="}, {"grant_read": "id=1"}):
        with refused("NotImplemented", 501):
            tos_bucket.put("k", b"x", **facts)
    # A condition that is misspelt must not be none.
    for name, value in (("x-tos-forbid-overwritten", "true"), ("content-encoding", "tos-chunked")):
        with refused("NotImplemented", 501):
            tos_bucket.put("k", b"x", generic_input=GenericInput(request_headers={name: value}))
    assert tos_bucket.keys() == []


def test_a_bucket_in_the_path_is_for_addresses_alone(tos_bucket):
    def status(host, path):
        connection = http.client.HTTPConnection("127.0.0.1", port_of(tos_bucket.endpoint), timeout=10)
        connection.request("GET", path, headers={"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read()

    code, body = status("tos-%s.volces.com" % REGION, "/%s/k" % tos_bucket.name)
    assert code == 403 and b"InvalidPathAccess" in body
    tos_bucket.set(acl="public-read")
    tos_bucket.put("a+b", b"data")
    for host, path in (("127.0.0.1:80", "/%s/a+b" % tos_bucket.name),
                       ("%s.tos-%s.localhost" % (tos_bucket.name, REGION), "/a%2Bb")):
        assert status(host, path) == (200, b"data")
