"""Removing files and trees: what `unlink` has returned of is gone (W6)."""

import errno
import os
import signal
import subprocess
import threading
import time

import pytest
from botocore.exceptions import ClientError

from programs import run, wait_for
from weather import Proxy


def is_stored(bucket, key):
    try:
        bucket.s3.head_object(Bucket=bucket.name, Key=key)
        return True
    except ClientError:
        return False


def unlink(path, outcomes):
    try:
        os.unlink(path)
        outcomes[path] = 0
    except OSError as failure:
        outcomes[path] = failure.errno


def deletions(mount):
    requests = mount.status()["counters"]["requests"]
    return requests.get("DeleteObject", 0), requests.get("DeleteObjects", 0)


def test_W6_what_has_been_removed_is_gone_for_everybody(bucket, mounts):
    for index in range(12):
        bucket.put("d/%d" % index, b"x")
    mount = mounts(bucket.url, bucket.endpoint).start()
    other = mounts(bucket.url, bucket.endpoint).start()
    assert len(os.listdir(other / "d")) == 12
    for index in range(12):
        os.unlink(mount / ("d/%d" % index))
        assert not is_stored(bucket, "d/%d" % index)
    os.rmdir(mount / "d")
    # The other one believes what it has listed for its time to live.
    wait_for(lambda: os.listdir(other.path) == [], "the other mount to see it")
    assert mount.stop().returncode == 0 and "Contents" not in bucket.s3.list_objects_v2(Bucket=bucket.name)


def test_W6_a_tree_is_removed_with_a_request_for_each_name(bucket, mounts):
    for index in range(60):
        bucket.put("d/%d/%d" % (index % 3, index), b"x")
    mount = mounts(bucket.url, bucket.endpoint).start()
    assert run(["rm", "-r", mount / "d"]).returncode == 0
    single, batches = deletions(mount)
    # 60 files and 4 directories.
    assert (single, batches) == (64, 0)
    assert "Contents" not in bucket.s3.list_objects_v2(Bucket=bucket.name)


@pytest.fixture
def batch(strict_bucket, proxy, mounts):
    """Twelve files in a directory each, and a store that takes its time to remove one alone."""
    for index in range(12):
        strict_bucket.put("d%d/f" % index, b"x")
    mount = mounts(strict_bucket.url, proxy.url).start()
    for index in range(12):
        os.stat(mount / ("d%d/f" % index))
    proxy.rules = [{"method": "DELETE", "delay": 1.5}]
    return mount


def remove_all(mount, proxy):
    """The first four go alone; the others gather meanwhile."""
    outcomes = {}
    threads = [threading.Thread(target=unlink, args=(mount / ("d%d/f" % index), outcomes)) for index in range(12)]
    for thread in threads[:4]:
        thread.start()
    wait_for(lambda: len(proxy.requests("DELETE")) == 4, "four removals to be asked for")
    for thread in threads[4:]:
        thread.start()
    for thread in threads:
        thread.join(60)
    return [outcomes[mount / ("d%d/f" % index)] for index in range(12)]


def test_W6_what_is_removed_side_by_side_goes_together(batch, proxy, strict_bucket):
    assert remove_all(batch, proxy) == [0] * 12
    assert not any(is_stored(strict_bucket, "d%d/f" % index) for index in range(12))
    assert deletions(batch) == (4, 1)


def test_W6_each_of_a_batch_is_told_its_own_outcome(batch, proxy):
    """The store may refuse one key of a request and remove the others; it answers 200 all the same."""
    named = b"".join(b"<Error><Key>d%d/f</Key><Code>AccessDenied</Code><Message>locked</Message></Error>" % index
                     for index in (4, 6, 11))
    proxy.rules += [{"method": "POST", "query": "delete", "status": 200,
                     "body": b"<DeleteResult>" + named + b"</DeleteResult>"}]
    outcomes = remove_all(batch, proxy)
    assert outcomes == [errno.EACCES if index in (4, 6, 11) else 0 for index in range(12)]
    for index in (4, 6, 11):
        assert os.path.exists(batch / ("d%d/f" % index))
    assert any("locked" in failure["message"] for failure in batch.status()["errors"])


def test_W6_a_refused_removal_leaves_the_name(bucket, mounts):
    bucket.put("d/f", b"x")
    proxy = Proxy(bucket.endpoint)
    try:
        mount = mounts(bucket.url, proxy.url).start()
        os.stat(mount / "d/f")
        proxy.rules = [{"method": "DELETE", "status": 403}]
        result = run(["rm", "-r", mount / "d"])
        assert result.returncode == 1 and "Permission denied" in result.stderr
        assert os.listdir(mount / "d") == ["f"] and mount.read("d/f") == b"x"
        proxy.rules = []
        assert run(["rm", "-r", mount / "d"]).returncode == 0
    finally:
        proxy.close()


def test_W6_who_is_killed_before_the_store_has_answered_has_removed_nothing(weather_mount, proxy, strict_bucket):
    strict_bucket.put("f", b"kept")
    mount = weather_mount().start()
    os.stat(mount / "f")
    proxy.rules = [{"method": "DELETE", "hole": True}]
    removing = subprocess.Popen(["rm", mount / "f"], stderr=subprocess.PIPE)
    wait_for(lambda: proxy.requests("DELETE"), "the removal to be asked for")
    os.kill(mount.pid, signal.SIGKILL)
    assert removing.wait(30) != 0
    removing.communicate()
    wait_for(mount.is_disconnected, "the mount to be dead")
    proxy.rules = []
    assert mount.start().read("f") == b"kept" and strict_bucket.get("f") == b"kept"


def test_W6_a_new_file_of_the_name_comes_behind_the_removal(weather_mount, proxy, strict_bucket):
    strict_bucket.put("f", b"old")
    mount = weather_mount().start()
    proxy.rules = [{"method": "DELETE", "delay": 0.3}]
    for index in range(3):
        os.unlink(mount / "f")
        with open(mount / "f", "x") as file:
            file.write("new %d" % index)
        assert strict_bucket.get("f") == b"new %d" % index
    order = [r["method"] for r in proxy.requests(key="/f") if r["method"] in ("DELETE", "PUT")]
    assert order == ["DELETE", "PUT"] * 3


def test_W6_an_unmount_waits_for_what_is_being_removed(weather_mount, proxy, strict_bucket):
    strict_bucket.put("d/f", b"x")
    mount = weather_mount().start()
    os.stat(mount / "d/f")
    os.unlink(mount / "d/f")
    before = time.monotonic()
    assert mount.stop().returncode == 0 and time.monotonic() - before < 30
    # The directory stays, as a marker, also if it is unmounted within the second.
    assert not is_stored(strict_bucket, "d/f") and is_stored(strict_bucket, "d/")
