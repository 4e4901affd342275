"""Writing while things go wrong: nothing that was written is lost, and every failure is told."""

import errno
import os
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
