"""The n-th request of `get`, `put` and `cp` fails, for every n, in each way an answer can fail: no wrong
byte, no lost checkpoint, no upload that nobody knows, nothing left after success."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from programs import one_sentence
from transfers import COMMANDS, OLD, PART, Place, content
from test_every_fault import SLOW_DOWN

DATA = content(PART + 123)
WAIT = {"retry-after": "1"}

# How an answer fails; whether nobody may notice.
FAULTS = {
    "reset before the answer": ({"reset_before": True}, True),
    "closed before the answer": ({"close_before": True}, True),
    "a lost answer": ({"lose_answer": True}, True),
    "reset after the head": ({"reset_after": 0}, True),
    "truncated": ({"truncate_after": 20}, True),
    "no HTTP": ({"raw": b"\x16\x03\x01 what\r\n\r\n"}, True),
    "two lengths": ({"raw": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 9\r\n\r\nabcde"}, True),
    "500": ({"status": 500}, True),
    "502 as a page": ({"status": 502, "body": "<html>bad gateway</html>"}, True),
    "429 with a wait": ({"status": 429, "body": SLOW_DOWN, "headers": WAIT}, True),
    "503 with a wait": ({"status": 503, "body": SLOW_DOWN, "headers": WAIT}, True),
    "garbage": ({"status": 200, "body": "<What><Key>x"}, False),
    "403": ({"status": 403, "body": "<Error><Code>AccessDenied</Code><RequestId>R</RequestId></Error>"}, False),
    "404": ({"status": 404}, False),
    "redirect": ({"status": 302, "headers": {"location": "http://portal.invalid/login"}}, False),
}


def refusal(code, ec=None):
    return json.dumps({"Code": code, "Message": "scripted", "RequestId": "R", **({"EC": ec} if ec else {})})


TOS_FAULTS = {
    "reset before the answer": FAULTS["reset before the answer"],
    "a lost answer": FAULTS["a lost answer"],
    "429 with a wait": ({"status": 429, "body": refusal("ExceedBucketQPSLimit"), "headers": WAIT}, True),
    "503": ({"status": 503, "body": refusal("SlowDown")}, True),
    "garbage": ({"status": 200, "body": '{"UploadId":'}, False),
    "403": ({"status": 403, "body": refusal("AccessDenied", "0003-00000001")}, False),
}
# moto has a few faults of the transport; nothing that was begun there is gone on with.
MOTO_FAULTS = ("reset before the answer", "a lost answer", "503 with a wait")


def cases():
    yield from (("seaweedfs", command, fault) for command in COMMANDS for fault in FAULTS)
    yield from (("moto", command, fault) for command in COMMANDS for fault in MOTO_FAULTS)
    yield from ((kind, command, fault) for kind in ("tos", "tos-tree") for command in COMMANDS for fault in TOS_FAULTS)


@pytest.fixture(scope="module")
def workers():
    with ThreadPoolExecutor(3) as pool:
        yield pool



def endure(kind, bucket, directory, command, rule, is_transient, index):
    """Runs the command while the request of this index fails, and again until it is done.

    Returns the requests of a quiet run.
    """
    place = Place(kind, bucket, directory, DATA)
    try:
        place.make_old(command)
        if rule is None:
            assert place.run(command).returncode == 0
            return [(entry["method"], entry["query"]) for entry in place.proxy.log]
        if rule.get("status") == 200:
            # A HEAD has no body to be wrong in.
            rule = {**rule, "method": "PUT|POST|GET"}
        place.proxy.rules = [{**rule, "skip": index, "times": 1}]
        result = place.run(command)
        assert place.proxy.rules[0]["times"] == 0 or rule.get("method"), "the fault never happened"
        if result.returncode != 0:
            assert not is_transient, result
            assert result.returncode in (1, 3), result
            one_sentence(result.stderr)
            assert place.result(command) in (OLD, DATA)
            assert place.run(command, *(["--force-restart"] if result.returncode == 3 else [])).returncode == 0
        assert place.result(command) == DATA, "wrong bytes"
        assert place.leftovers() == [], "something is left beside the result"
        return place.uploads()
    finally:
        place.close()


@pytest.mark.parametrize("kind, command, fault", cases())
def test_the_nth_request_of_a_transfer_fails(make_bucket, tmp_path, workers, kind, command, fault):
    rule, is_transient = (TOS_FAULTS if kind.startswith("tos") else FAULTS)[fault]
    quiet = endure(kind, make_bucket(kind), tmp_path / "quiet", command, None, True, 0)
    assert {"get": 3, "put": 4, "cp": 5}[command] <= len(quiet) <= 10, "the scenario has changed: %r" % quiet
    indices = range(len(quiet))
    if rule.get("status") == 200:
        indices = [n for n, _ in enumerate([method for method, _ in quiet if method != "HEAD"])]
    buckets = [make_bucket(kind) for _ in indices]
    attempts = [workers.submit(endure, kind, buckets[i], tmp_path / str(n), command, rule, is_transient, n)
                for i, n in enumerate(indices)]
    creations = [n for n, (method, query) in enumerate(quiet) if method == "POST" and "uploads" in query]
    for n, attempt in zip(indices, attempts):
        try:
            left = attempt.result(timeout=120)
        except AssertionError as failure:
            raise AssertionError("request %d of %d: %s" % (n + 1, len(quiet), failure)) from failure
        # Whoever was told nothing of an upload that the store has begun can't know it.
        is_unknowable = n in creations and not {"status", "raw"} & set(rule)
        assert len(left) <= (1 if is_unknowable else 0), "request %d of %d left an upload" % (n + 1, len(quiet))
