"""`dipper recover`: a renaming whose machine is dead is found by others, and finished."""

import json
import os
import subprocess

import pytest

from conftest import DIPPER, run, wait_for

TREE = {f"old/{n}": b"body %d" % n for n in range(40)}


def keys(bucket, prefix=""):
    listed = bucket.s3.list_objects_v2(Bucket=bucket.name, Prefix=prefix)
    return sorted(entry["Key"] for entry in listed.get("Contents", []))


@pytest.fixture
def dead(weather_mount, proxy, strict_bucket, tmp_path):
    """A mount that was killed in the middle of a renaming."""
    for key, body in TREE.items():
        strict_bucket.put(key, body)
    mount = weather_mount().start()
    proxy.rules = [{"method": "PUT", "path": "/new/", "skip": 10, "hole": True}]
    mover = subprocess.Popen(["mv", mount / "old", mount / "new"], stderr=subprocess.DEVNULL)
    wait_for(lambda: len(keys(strict_bucket, "new/")) == 10, "ten copies")
    # The marker is there, and `ls` of a mount doesn't show it.
    assert len(keys(strict_bucket, ".dipper/renames/")) == 1
    mount.kill()
    mover.wait(20)
    proxy.rules = []
    return mount


def recover(bucket, cache, *options, endpoint=None):
    command = [DIPPER, "recover", bucket.url, "--endpoint", endpoint or bucket.endpoint]
    return run([*command, "--cache-dir", str(cache), *options])


def expect_moved(bucket):
    assert keys(bucket, "old/") == [] and keys(bucket, ".dipper/") == []
    for key, body in TREE.items():
        assert bucket.get(key.replace("old", "new")) == body


def test_nothing_to_recover(bucket, tmp_path):
    done = recover(bucket, tmp_path / "cache")
    assert done.returncode == 0 and done.stdout == "" and done.stderr == ""
    assert not (tmp_path / "cache").exists(), "looking changes nothing"
    done = recover(bucket, tmp_path / "cache", "--json")
    assert done.returncode == 0 and json.loads(done.stdout) == {"version": 1, "renamings": []}


def test_a_machine_finishes_its_own_without_mounting(dead, strict_bucket):
    done = recover(strict_bucket, dead.cache, endpoint=dead.endpoint)
    assert done.returncode == 1 and "unfinished: old/ -> new/" in done.stdout, done
    assert "recover --finish" in done.stderr and len(done.stderr.splitlines()) == 1
    assert len(keys(strict_bucket, "old/")) == len(TREE), "looking changes nothing"
    done = recover(strict_bucket, dead.cache, "--finish", endpoint=dead.endpoint)
    assert done.returncode == 0 and "finished: old/ -> new/" in done.stdout, done
    expect_moved(strict_bucket)
    assert recover(strict_bucket, dead.cache, endpoint=dead.endpoint).returncode == 0


def test_another_machine_waits_until_the_first_is_given_up(dead, strict_bucket, tmp_path):
    done = recover(strict_bucket, tmp_path / "other", "--finish", "--json")
    assert done.returncode == 4, done
    (item,) = json.loads(done.stdout)["renamings"]
    assert item["state"] == "running" and item["source"] == "old/" and item["target"] == "new/"
    assert str(os.uname().nodename) in item["holder"]
    assert item["error"] is None and item["left_keys"] is None
    assert "1 renaming belongs to a living process" in done.stderr
    assert len(keys(strict_bucket, "old/")) == len(TREE)
    assert len(keys(strict_bucket, "new/")) == 10


def test_a_mount_that_lives_finishes_its_own(dead, strict_bucket):
    dead.start()
    wait_for(lambda: keys(strict_bucket, "old/") == [], "the renaming to be finished")
    wait_for(lambda: keys(strict_bucket, ".dipper/") == [], "the marker to be gone")
    done = run([DIPPER, "recover", dead.path])
    assert done.returncode == 0 and done.stdout == "", done
    done = recover(strict_bucket, dead.cache, "--finish", endpoint=dead.endpoint)
    assert done.returncode == 4 and "mountpoint" in done.stderr, done
    expect_moved(strict_bucket)


def test_bad_input_is_one_sentence(tmp_path):
    for arguments, code in [([], 2), (["/nonexistent"], 1), (["s3://"], 2), (["a", "b"], 2)]:
        done = run([DIPPER, "recover", *arguments])
        assert done.returncode == code and len(done.stderr.splitlines()) == 1, done
