"""Renaming in bad weather: what was begun is finished or taken back, and the reason has a key (C1, C3, O4)."""

import errno
import os
import signal
import subprocess
import time

import pytest

from conftest import wait_for
from test_copying import journals, keys, rename

TREE = {f"old/{n}": b"body %d" % n for n in range(24)}


def error(code, message="no"):
    return f"<Error><Code>{code}</Code><Message>{message}</Message><RequestId>r-7</RequestId></Error>"


@pytest.fixture
def mount(weather_mount, strict_bucket):
    for key, body in TREE.items():
        strict_bucket.put(key, body)
    return weather_mount(options=["--max-retries", "2"]).start()


def expect_whole(bucket, mount, place):
    other = "new/" if place == "old/" else "old/"
    assert keys(bucket, other) == []
    for key, body in TREE.items():
        assert bucket.get(key.replace("old/", place)) == body
    assert journals(mount) == [] and keys(bucket, ".dipper/renames/") == []


def last_error(mount):
    found = [e for e in mount.status()["errors"] if e["operation"] == "rename"]
    return found[-1]


@pytest.mark.parametrize(
    "rule, code, expected",
    [
        ({"status": 403, "body": error("AccessDenied")}, "AccessDenied", errno.EACCES),
        ({"status": 403, "body": error("QuotaExceeded")}, "QuotaExceeded", None),
        ({"status": 507, "body": error("InsufficientStorage")}, "InsufficientStorage", None),
        # The answer begins with 200, and the error comes in its body.
        ({"status": 200, "body": error("AccessDenied")}, "AccessDenied", errno.EACCES),
    ],
)
@pytest.mark.parametrize("what", ["copy", "delete"])
def test_C3_a_directory_that_is_refused_in_the_middle_stays_whole(mount, proxy, strict_bucket, what, rule, code, expected):
    if what == "copy":
        proxy.rules = [{"method": "PUT", "path": "/new/17", **rule}]
    else:
        if rule["status"] == 200:
            pytest.skip("an answer to a deletion has an error for each key")
        proxy.rules = [{"method": "POST", "query": "delete", "skip": 0, "times": 99, **rule}]
        # Taking it back must be possible.
        proxy.rules[0]["times"] = 3 if rule["status"] == 507 else 1
    failure = rename(mount / "old", mount / "new")
    assert failure != 0 and (expected is None or failure == expected), os.strerror(failure)
    proxy.rules = []
    if journals(mount):
        mount.stop()
        mount.start()
        wait_for(lambda: journals(mount) == [], "the renaming to be settled")
    else:
        told = last_error(mount)
        assert code in told["message"] and "old/" in told["message"], told
        if what == "copy":
            assert "new/17" in told["message"], told
    place = "old/" if keys(strict_bucket, "new/") == [] else "new/"
    expect_whole(strict_bucket, mount, place)
    # And the next try succeeds.
    if place == "old/":
        assert rename(mount / "old", mount / "new") == 0
        expect_whole(strict_bucket, mount, "new/")


def test_C3_an_error_in_an_answer_200_is_tried_again(mount, proxy, strict_bucket):
    proxy.rules = [{"method": "PUT", "path": "/new/17", "status": 200, "body": error("InternalError"), "times": 1}]
    assert rename(mount / "old", mount / "new") == 0
    expect_whole(strict_bucket, mount, "new/")


def test_C1_a_file_that_is_refused_stays_under_its_name(mount, proxy, strict_bucket):
    proxy.rules = [{"method": "PUT", "path": "/moved", "status": 403, "body": error("QuotaExceeded", "full")}]
    assert rename(mount / "old/3", mount / "moved") != 0
    told = last_error(mount)
    assert "QuotaExceeded" in told["message"] and "old/3" in told["message"] and "moved" in told["message"], told
    proxy.rules = [{"method": "DELETE", "path": "/old/3", "status": 403, "body": error("AccessDenied")}]
    assert rename(mount / "old/3", mount / "moved") == errno.EACCES
    assert "old/3" in last_error(mount)["message"]
    proxy.rules = []
    expect_whole(strict_bucket, mount, "old/")
    assert keys(strict_bucket, "moved") == []
    assert rename(mount / "old/3", mount / "moved") == 0


def test_C3_progress_is_shown_and_a_signal_ends_the_wait(mount, proxy, strict_bucket):
    proxy.rules = [{"method": "PUT", "path": "/new/", "delay": 0.6}]
    mover = subprocess.Popen(["mv", mount / "old", mount / "new"], stderr=subprocess.DEVNULL)

    def shown():
        return [t for t in mount.status()["transfers"] if t["kind"] == "rename"]

    wait_for(lambda: shown() and 0 < shown()[0]["parts_done"] < len(TREE), "progress")
    (renaming,) = shown() or [None]
    if renaming:
        assert renaming["parts_total"] == len(TREE) and renaming["state"] == "running"
        assert renaming["key"].startswith("old") and renaming["target_key"].startswith("new")
    mover.send_signal(signal.SIGINT)
    assert mover.wait(5) != 0
    # What it began goes on.
    wait_for(lambda: keys(strict_bucket, "old/") == [], "the renaming to go on to its end")
    wait_for(lambda: journals(mount) == [], "its end")
    expect_whole(strict_bucket, mount, "new/")


@pytest.mark.parametrize("name, renamed", [("old/3", "old/x"), ("old", "new")])
def test_R5_a_renaming_on_a_dead_store_ends_soon_after_the_deadline(weather_mount, proxy, strict_bucket, name, renamed):
    for key, body in TREE.items():
        strict_bucket.put(key, body)
    mount = weather_mount(options=["--deadline", "3", "--metadata-ttl", "60"]).start()
    assert len(os.listdir(mount / "old")) == len(TREE) and len(os.listdir(mount.path)) == 1
    proxy.go_offline()
    begin = time.monotonic()
    failure = rename(mount / name, mount / renamed)
    # A few deadlines: of what was to be done, and of taking it back.
    assert failure == errno.ETIMEDOUT and time.monotonic() - begin < 30
    proxy.go_online()
    for key, body in TREE.items():
        assert strict_bucket.get(key) == body
