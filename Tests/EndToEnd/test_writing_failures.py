"""Writing while things go wrong: nothing that was written is lost, and every failure is told."""

import errno
import os
import subprocess
import threading
import time

import pytest

from conftest import run, wait_for

MIB = 1 << 20
DENIED = b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>no</Message><RequestId>R1D</RequestId></Error>'


def denied(method, path):
    return {"method": method, "path": path, "status": 403, "body": DENIED,
            "headers": {"content-type": "application/xml", "x-amz-request-id": "R1D"}}


def test_W4_without_the_right_to_write_the_close_says_so_and_the_bytes_are_kept(weather_mount, proxy, strict_bucket):
    strict_bucket.put("f", b"old")
    mount = weather_mount().start()
    proxy.rules = [denied("PUT", "/f$")]
    file = os.open(mount / "f", os.O_WRONLY | os.O_TRUNC)
    os.write(file, b"new text")
    with pytest.raises(OSError) as failure:
        os.close(file)
    assert failure.value.errno == errno.EACCES
    assert strict_bucket.get("f") == b"old"
    status = mount.status()
    (item,) = status["unsaved"]
    assert item["path"] == "f" and item["bytes"] == 8 and os.path.isdir(item["kept_at"])
    (error,) = status["errors"]
    assert error["errno"] == "EACCES" and error["code"] == "AccessDenied" and error["request_id"] == "R1D", error
    assert "R1D" in mount.log() and b"EACCES" in os.getxattr(mount / "f", "user.dipper.last-error")
    # The mount goes on to show what was written, and stores it when it may.
    assert mount.read("f") == b"new text"
    stopped = mount.stop()
    assert stopped.returncode == 1 and "f" in stopped.stderr and "kept" in stopped.stderr, stopped
    proxy.rules = []
    mount.start()
    wait_for(lambda: strict_bucket.get("f") == b"new text", "the bytes to be stored by the next mount")
    wait_for(lambda: mount.status()["unsaved"] == [], "nothing to be unsaved")
    assert mount.read("f") == b"new text"


def test_W4_what_a_killed_daemon_could_not_store_the_next_one_does(weather_mount, proxy, strict_bucket):
    data = os.urandom(3 * MIB)
    mount = weather_mount(options=["--deadline", "5", "--max-retries", "1"]).start()
    os.mkdir(mount / "d")
    proxy.go_offline()
    file = os.open(mount / "d/f", os.O_CREAT | os.O_WRONLY)
    os.write(file, data)
    with pytest.raises(OSError) as failure:
        os.close(file)
    assert failure.value.errno in (errno.ETIMEDOUT, errno.EIO)
    assert [item["path"] for item in mount.status()["unsaved"]] == ["d/f"]
    mount.kill()
    proxy.go_online()
    mount.start()
    wait_for(lambda: [k for k in listing(strict_bucket) if k == "d/f"], "the file to be stored")
    assert strict_bucket.get("d/f") == data and mount.read("d/f") == data


def listing(bucket):
    return [entry["Key"] for entry in bucket.s3.list_objects_v2(Bucket=bucket.name).get("Contents", [])]


def test_W4_what_was_written_and_not_closed_survives_a_kill(weather_mount, proxy, strict_bucket):
    mount = weather_mount().start()
    file = os.open(mount / "f", os.O_CREAT | os.O_WRONLY)
    os.write(file, b"x" * (2 * MIB))
    time.sleep(0.5)
    mount.kill()
    try:
        os.close(file)
    except OSError:
        pass
    mount.start()
    wait_for(lambda: "f" in listing(strict_bucket), "the file to be stored")
    assert strict_bucket.get("f") == b"x" * (2 * MIB)


def test_an_unmount_says_what_it_waits_for(weather_mount, proxy, strict_bucket):
    mount = weather_mount().start()
    proxy.rules = [denied("PUT", "/f$")]
    file = os.open(mount / "f", os.O_CREAT | os.O_WRONLY)
    os.write(file, b"new text")
    with pytest.raises(OSError):
        os.close(file)
    proxy.rules = [{"method": "PUT", "path": "/f$", "delay": 4}]
    stopped = mount.stop()
    assert stopped.returncode == 0, stopped
    assert "waiting for 1 file to be stored" in stopped.stderr and "f" in stopped.stderr
    assert strict_bucket.get("f") == b"new text"


def test_a_refused_removal_leaves_the_file(weather_mount, proxy, strict_bucket):
    strict_bucket.put("d/f", b"x")
    mount = weather_mount().start()
    proxy.rules = [denied("DELETE", "/f$")]
    with pytest.raises(OSError) as failure:
        os.unlink(mount / "d/f")
    assert failure.value.errno == errno.EACCES
    assert mount.read("d/f") == b"x" and os.listdir(mount / "d") == ["f"]


def test_a_lost_answer_to_a_write_is_no_conflict(weather_mount, proxy, strict_bucket):
    mount = weather_mount().start()
    proxy.rules = [{"method": "PUT", "path": "/f$", "lose_answer": True, "times": 1}]
    with open(mount / "f", "wb") as file:
        file.write(b"hello")
    assert strict_bucket.get("f") == b"hello" and mount.status()["unsaved"] == []


def test_a_rename_whose_copy_fails_changes_nothing(weather_mount, proxy, strict_bucket):
    strict_bucket.put("a", b"1")
    mount = weather_mount().start()
    proxy.rules = [denied("PUT", "/b$")]
    with pytest.raises(OSError) as failure:
        os.rename(mount / "a", mount / "b")
    assert failure.value.errno == errno.EACCES
    assert os.listdir(mount.path) == ["a"] and mount.read("a") == b"1" and listing(strict_bucket) == ["a"]


def failure_of(act):
    """The name of the errno that something fails with; None if it doesn't."""
    try:
        act()
    except OSError as failure:
        return errno.errorcode[failure.errno]
    return None


@pytest.mark.parametrize("size", [3, 40 * MIB])
def test_W3_what_a_lost_answer_has_made_is_no_conflict(weather_mount, proxy, strict_bucket, size):
    """The store has the object, nobody says so, and the file is changed before it is stored again."""
    data = bytearray(os.urandom(size))
    mount = weather_mount(options=["--deadline", "3", "--max-retries", "0"]).start()
    file = os.open(mount / "f", os.O_CREAT | os.O_WRONLY)
    os.write(file, data)
    last = {"method": "PUT"} if size < MIB else {"method": "POST", "query": "uploadId"}
    proxy.rules = [{**last, "path": "/f$", "lose_answer": True, "times": 1},
                   {"method": "HEAD", "path": "/f$", "reset_before": True}]
    assert failure_of(lambda: os.fsync(file)) == "ETIMEDOUT"
    proxy.rules = []
    assert strict_bucket.get("f") == data
    os.pwrite(file, b"X", 1)
    os.pwrite(file, b"more", size)
    data[1:2] = b"X"
    os.close(file)
    assert strict_bucket.get("f") == data + b"more" and mount.status()["unsaved"] == []
    assert not strict_bucket.s3.list_multipart_uploads(Bucket=strict_bucket.name).get("Uploads")


@pytest.mark.parametrize("size", [1000, 40 * MIB])
@pytest.mark.parametrize("kind", ["refused", "silent"])
def test_a_close_of_which_the_store_takes_nothing_ends(weather_mount, proxy, strict_bucket, kind, size):
    mount = weather_mount(options=["--deadline", "3"]).start()
    file = os.open(mount / "f", os.O_CREAT | os.O_WRONLY)
    if kind == "refused":
        proxy.go_offline()
    else:
        proxy.rules = [{"hole": True}]
    os.write(file, bytes(size))
    outcome = []
    closer = threading.Thread(target=lambda: outcome.append(failure_of(lambda: os.close(file))), daemon=True)
    closer.start()
    # A few deadlines: of what was sent early, of the bytes, and of who asks whether they have arrived.
    closer.join(30)
    assert outcome == ["ETIMEDOUT"]
    assert [item["path"] for item in mount.status()["unsaved"]] == ["f"]
    proxy.rules = []
    proxy.go_online()
    assert failure_of(lambda: os.close(os.open(mount / "f", os.O_WRONLY | os.O_APPEND))) is None
    assert strict_bucket.get("f") == bytes(size) and mount.status()["unsaved"] == []


def test_W4_what_has_filled_the_disk_is_stored_all_the_same(strict_bucket, mounts, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m,mode=700", "tmpfs", small], check=True)
    try:
        mount = mounts(strict_bucket.url, strict_bucket.endpoint, cache=small / "cache").start()
        file = os.open(mount / "f", os.O_CREAT | os.O_WRONLY)
        count = 0
        with pytest.raises(OSError) as failure:
            while count < 60:
                assert os.write(file, bytes([count]) * MIB) == MIB
                count += 1
        assert failure.value.errno == errno.ENOSPC and count > 30
        os.close(file)
        stored = strict_bucket.get("f")
        assert stored[: count * MIB] == b"".join(bytes([i]) * MIB for i in range(count))
        # And so the disk has room again.
        with open(mount / "g", "wb") as other:
            other.write(bytes(10 * MIB))
        assert mount.status()["unsaved"] == [] and mount.stop().returncode == 0
    finally:
        subprocess.run(["umount", "-l", small], capture_output=True)


def test_W3_who_loses_the_race_for_a_lock_file_is_told_and_leaves_nothing(strict_bucket, mounts):
    pair = [mounts(strict_bucket.url, strict_bucket.endpoint).start() for _ in range(2)]
    for number in range(5):
        def make(mount):
            os.close(os.open(mount / ("lock%d" % number), os.O_CREAT | os.O_EXCL | os.O_WRONLY))

        outcomes = []
        threads = [threading.Thread(target=lambda m=mount: outcomes.append(failure_of(lambda: make(m))))
                   for mount in pair]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert outcomes.count("EEXIST") == 1, outcomes
    for mount in pair:
        assert mount.status()["unsaved"] == [] and mount.stop().returncode == 0
