"""The n-th request of a mount, a listing and a read fails, for every n, in each way an answer can
fail: no wrong byte, no hang, the errno named, and then it goes on."""

import contextlib
import errno
import json
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import Mount, one_sentence, run, DIPPER
from weather import Proxy

SLOW_DOWN = "<Error><Code>SlowDown</Code><Message>less</Message><RequestId>R</RequestId></Error>"
DENIED = "<Error><Code>AccessDenied</Code><Message>no</Message><RequestId>R</RequestId></Error>"
FILLER = {"x-filler-%d" % i: "f" * 6000 for i in range(10)}


def without(fields, *names):
    return {name: value for name, value in fields.items() if name not in names}


# How an answer fails, and which errnos may come of it; without any, nobody may notice.
FAULTS = {
    "reset before the answer": ({"reset_before": True}, ()),
    "closed before the answer": ({"close_before": True}, ()),
    "reset after the head": ({"reset_after": 0}, ()),
    "reset in the body": ({"reset_after": 100}, ()),
    "truncated": ({"truncate_after": 200}, ()),
    "stalled before the answer": ({"hole": True}, (errno.ETIMEDOUT,)),
    "stalled in the body": ({"stall_after": 100}, (errno.ETIMEDOUT,)),
    "too long": ({"rewrite": lambda s, h, b: (s, h, b + b"tail")}, ()),
    "too short": ({"rewrite": lambda s, h, b: (s, h, b[:-10])}, ()),
    "200 instead of 206": ({"rewrite": lambda s, h, b: (200, without(h, "content-range"), b)}, ()),
    "another range": ({"rewrite": lambda s, h, b: (s, {**h, "content-range": "bytes 1-2/3"}, b)}, ()),
    "two lengths": ({"raw": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 9\r\n\r\nabcde"}, ()),
    "no HTTP": ({"raw": b"\x16\x03\x01 what\r\n\r\n"}, ()),
    "garbage": ({"status": 200, "body": "<ListBucketResult><Contents><Key>x"}, ()),
    "429": ({"status": 429, "body": SLOW_DOWN}, ()),
    "500": ({"status": 500}, ()),
    "502 as a page": ({"status": 502, "body": "<html>bad gateway</html>"}, ()),
    "503 with a wait": ({"status": 503, "body": SLOW_DOWN, "headers": {"retry-after": "1"}}, ()),
    "60 KB of head": ({"rewrite": lambda s, h, b: (s, {**h, **FILLER}, b)}, ()),
    "1 MB of head": ({"raw": b"HTTP/1.1 200 OK\r\nx-filler: " + b"f" * (1 << 20) + b"\r\n\r\n"}, ()),
    "403": ({"status": 403, "body": DENIED}, (errno.EACCES,)),
    "404": ({"status": 404}, (errno.ENOENT, errno.ESTALE, errno.EIO)),
    "redirect": ({"status": 302, "headers": {"location": "http://portal.invalid/login"}}, (errno.EIO,)),
}


def refusal(code, ec=None):
    """An error as TOS explains it."""
    return json.dumps({"Code": code, "Message": "scripted", "RequestId": "R", **({"EC": ec} if ec else {})})


# What TOS answers in its own way; the transport's faults are the same above.
TOS_FAULTS = {
    "429 with a wait": (
        {"status": 429, "body": refusal("ExceedBucketQPSLimit"), "headers": {"retry-after": "1"}}, ()),
    "503": ({"status": 503, "body": refusal("SlowDown")}, ()),
    "500": ({"status": 500, "body": refusal("InternalError")}, ()),
    "an error inside a success": ({"method": "GET", "status": 200, "body": refusal("InternalError")}, ()),
    "a lost answer": ({"lose_answer": True}, ()),
    "a body that was read badly": (
        {"status": 400, "headers": {"x-tos-ec": "0005-00000044"}, "body": refusal("InvalidArgument", "0005-00000044")}, ()),
    "a lock": ({"method": "GET", "status": 409, "body": refusal("X", "0026-00000022")}, ()),
    "garbage": ({"method": "GET", "status": 200, "body": '{"IsTruncated":false,"Contents":[{"Key":"x'}, ()),
    "403": ({"status": 403, "body": refusal("AccessDenied", "0003-00000001")}, (errno.EACCES,)),
    "404": ({"status": 404, "body": refusal("NoSuchKey", "0017-00000003")}, (errno.ENOENT, errno.ESTALE, errno.EIO)),
}
DATA = random.Random(8).randbytes(700_001)
NAMES = ["big", "small"]


@pytest.fixture
def full(strict_bucket):
    strict_bucket.put("d/big", DATA)
    strict_bucket.put("d/small", b"small")
    return strict_bucket


def visit(path):
    assert sorted(os.listdir(os.path.join(path, "d"))) == NAMES
    for name, data in (("big", DATA), ("small", b"small")):
        with open(os.path.join(path, "d", name), "rb") as file:
            assert file.read() == data, "wrong bytes"


def endure(bucket, directory, rule, errnos, index):
    """Mounts, lists and reads while the request of this index fails; returns how many there were."""
    proxy = Proxy(bucket.endpoint)
    proxy.rules = [{**rule, "skip": index, "times": 1}] if rule else []
    deadline = "2" if errno.ETIMEDOUT in errnos else "20"
    mount = Mount(bucket.url, directory, proxy.url, options=["--deadline", deadline])
    begin = time.monotonic()
    try:
        result = mount.try_start()
        if result.returncode != 0:
            assert errnos, "the mount noticed: " + result.stderr
            one_sentence(result.stderr)
            mount.start()
        while True:
            try:
                visit(mount.path)
                break
            except OSError as failure:
                assert failure.errno in errnos, "%r, %s" % (failure, mount.log())
                # A name that the store denied is believed to be absent for a second.
                assert time.monotonic() - begin < 30, "it doesn't recover: %r" % failure
                time.sleep(0.2)
        assert time.monotonic() - begin < 40
        # How far reading ahead gets is a matter of time: the last requests are not made each time.
        assert not rule or index >= 3 or proxy.rules[0]["times"] == 0, "the fault never happened"
        return len(proxy.log)
    finally:
        with contextlib.suppress(Exception):
            run([DIPPER, "unmount", mount.path], timeout=20)
        mount.clear()
        proxy.close()


@pytest.fixture(scope="module")
def workers():
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.mark.parametrize("fault", FAULTS)
def test_the_nth_request_fails(full, tmp_path, workers, fault):
    strike_each(full, tmp_path, workers, *FAULTS[fault])


@pytest.mark.parametrize("kind", ["fns", "hns"])
@pytest.mark.parametrize("fault", TOS_FAULTS)
def test_the_nth_request_to_tos_fails(make_tos_bucket, tmp_path, workers, fault, kind):
    bucket = make_tos_bucket("moto", type=kind)
    bucket.put("d/big", DATA)
    bucket.put("d/small", b"small")
    strike_each(bucket, tmp_path, workers, *TOS_FAULTS[fault])


def strike_each(full, tmp_path, workers, rule, errnos):
    """Lets each of the requests fail in turn."""
    count = endure(full, tmp_path / "quiet", None, (), 0)
    assert 4 <= count <= 12, "the scenario has changed: %d requests" % count
    if rule.get("method") == "GET":
        # The first request asks for the bucket, by HEAD, whose answer has no body to be wrong in.
        count -= 1
    attempts = [workers.submit(endure, full, tmp_path / str(n), rule, errnos, n) for n in range(count)]
    for n, attempt in enumerate(attempts):
        try:
            attempt.result(timeout=90)
        except AssertionError as failure:
            raise AssertionError("request %d of %d: %s" % (n + 1, count, failure)) from failure
