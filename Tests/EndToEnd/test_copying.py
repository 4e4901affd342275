"""`cp` and `mv` inside a mount: the server copies, no object byte passes through this machine (C1 to C5)."""

import ctypes
import errno
import io
import os
import random
import shutil
import subprocess
import time

import pytest

from conftest import TTL, run, wait_for

MIB = 1 << 20
RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2


@pytest.fixture
def mounted(bucket, mounts):
    """Makes mounts of a bucket with these objects."""

    def make(objects=None, **facts):
        for key, body in (objects or {}).items():
            bucket.put(key, body)
        return mounts(bucket.url, bucket.endpoint, **facts).start()

    return make


def keys(bucket, prefix=""):
    listed = bucket.s3.list_objects_v2(Bucket=bucket.name, Prefix=prefix)
    return sorted(entry["Key"] for entry in listed.get("Contents", []))


def counters(mount):
    return mount.status()["counters"]


class Traffic:
    """What a mount does meanwhile."""

    def __init__(self, mount):
        self.mount = mount

    def __enter__(self):
        self.before = counters(self.mount)
        return self

    def __exit__(self, *failure):
        after = counters(self.mount)
        self.received = after["bytes_received"] - self.before["bytes_received"]
        self.sent = after["bytes_sent"] - self.before["bytes_sent"]
        self.requests = {
            name: after["requests"][name] - self.before["requests"].get(name, 0) for name in after["requests"]
        }


def bytes_of(size, seed=1):
    return random.Random(seed).randbytes(size)


def rename(source, target, flags=0):
    libc = ctypes.CDLL(None, use_errno=True)
    outcome = libc.renameat2(-100, os.fsencode(source), -100, os.fsencode(target), flags)
    return 0 if outcome == 0 else ctypes.get_errno()


def test_C2_cp_of_a_file_moves_no_byte(mounted, bucket):
    data = bytes_of(12 * MIB)
    mount = mounted({"d/a": data})
    with Traffic(mount) as traffic:
        assert run(["cp", mount / "d/a", mount / "b"]).returncode == 0
    assert traffic.received == 0 and traffic.sent == 0, traffic.requests
    assert bucket.get("b") == data and mount.read("b") == data


def test_C2_the_copy_can_be_read_before_it_is_stored(mounted, bucket):
    data = bytes_of(6 * MIB)
    mount = mounted({"a": data})
    source = os.open(mount / "a", os.O_RDONLY)
    target = os.open(mount / "b", os.O_RDWR | os.O_CREAT)
    assert os.copy_file_range(source, target, 2 * MIB, 1000, 0) == 2 * MIB
    assert os.pread(target, 2 * MIB, 0) == data[1000 : 1000 + 2 * MIB]
    # And what is written over it counts.
    os.pwrite(target, b"over", 5)
    os.close(target)
    os.close(source)
    expected = data[1000:1005] + b"over" + data[1009 : 1000 + 2 * MIB]
    assert bucket.get("b") == expected == mount.read("b")


def test_C2_several_sources_become_one(mounted, bucket):
    parts = [bytes_of(6 * MIB + seed, seed) for seed in range(3)]
    mount = mounted({f"p{number}": part for number, part in enumerate(parts)})
    with Traffic(mount) as traffic:
        target = os.open(mount / "all", os.O_WRONLY | os.O_CREAT)
        for number, part in enumerate(parts):
            source = os.open(mount / f"p{number}", os.O_RDONLY)
            assert os.copy_file_range(source, target, len(part)) == len(part)
            assert os.copy_file_range(source, target, 1) == 0
            os.close(source)
        os.close(target)
    assert bucket.get("all") == b"".join(parts)
    assert traffic.sent < sum(map(len, parts)) // 2 and traffic.requests["UploadPartCopy"] >= 2, traffic.requests


def test_C2_ranges_move_inside_a_file(mounted, bucket):
    data = bytearray(bytes_of(3 * MIB))
    mount = mounted({"f": bytes(data)})
    file = os.open(mount / "f", os.O_RDWR)
    assert os.copy_file_range(file, file, 1000, 0, 2 * MIB) == 1000
    data[2 * MIB : 2 * MIB + 1000] = data[:1000]
    with pytest.raises(OSError) as failure:
        os.copy_file_range(file, file, 1000, 0, 500)
    assert failure.value.errno == errno.EINVAL
    os.close(file)
    assert bucket.get("f") == bytes(data)


def test_C2_an_unsaved_source_is_copied_too(mounted, bucket):
    mount = mounted({"a": b"0123456789"})
    source = os.open(mount / "a", os.O_RDWR)
    os.pwrite(source, b"XY", 4)
    os.ftruncate(source, 14)
    target = os.open(mount / "b", os.O_WRONLY | os.O_CREAT)
    assert os.copy_file_range(source, target, 100) == 14
    os.close(target)
    expected = b"0123XY6789" + bytes(4)
    assert bucket.get("b") == expected and bucket.get("a") == b"0123456789"
    os.close(source)
    assert bucket.get("a") == expected


def test_C4_what_belongs_to_an_object_goes_along_with_mv(mounted, bucket):
    bucket.s3.put_object(
        Bucket=bucket.name, Key="a", Body=b"body", ContentType="video/mp4", CacheControl="no-store",
        Metadata={"project": "blue"},
    )
    mount = mounted()
    with Traffic(mount) as traffic:
        os.rename(mount / "a", mount / "b.txt")
    assert traffic.received == 0 and traffic.sent == 0
    found = bucket.s3.head_object(Bucket=bucket.name, Key="b.txt")
    assert found["ContentType"] == "video/mp4" and found["CacheControl"] == "no-store"
    assert found["Metadata"]["project"] == "blue"
    assert keys(bucket) == ["b.txt"] and os.listdir(mount.path) == ["b.txt"] and mount.read("b.txt") == b"body"


def test_C4_what_belongs_to_an_object_goes_along_with_cp(mounted, bucket):
    bucket.s3.put_object(
        Bucket=bucket.name, Key="a.bin", Body=b"body", ContentType="video/mp4", ContentEncoding="gzip",
        Metadata={"project": "blue"},
    )
    mount = mounted()
    assert run(["cp", mount / "a.bin", mount / "b.txt"]).returncode == 0
    found = bucket.s3.head_object(Bucket=bucket.name, Key="b.txt")
    assert found["ContentType"] == "video/mp4" and found["ContentEncoding"] == "gzip"
    assert found["Metadata"]["project"] == "blue" and bucket.get("b.txt") == b"body"


def test_C1_mv_replaces_and_refuses_to(mounted, bucket):
    mount = mounted({"a": b"aa", "b": b"b", "c": b"c"})
    assert rename(mount / "a", mount / "b", RENAME_NOREPLACE) == errno.EEXIST
    assert rename(mount / "a", mount / "b", RENAME_EXCHANGE) == errno.EINVAL
    assert rename(mount / "a", mount / "b") == 0
    assert keys(bucket) == ["b", "c"] and bucket.get("b") == b"aa" == mount.read("b")
    with Traffic(mount) as traffic:
        assert rename(mount / "c", mount / "c") == 0
    assert traffic.requests["CopyObject"] == 0 and bucket.get("c") == b"c"
    assert rename(mount / "no", mount / "x") == errno.ENOENT


def test_C3_a_directory_is_renamed_without_a_byte(mounted, bucket):
    tree = {f"old/{n % 3}/file {n}": bytes_of(100 + n, n) for n in range(30)}
    mount = mounted({**tree, "older": b"o", "old/": b""})
    for directory, _, files in os.walk(mount.path):
        for name in files:
            os.stat(os.path.join(directory, name))
    reader = os.open(mount / "old/0/file 3", os.O_RDONLY)
    with Traffic(mount) as traffic:
        os.rename(mount / "old", mount / "new")
    assert traffic.received == 0 and traffic.sent == 0, traffic.requests
    expected = {key.replace("old/", "new/", 1): body for key, body in tree.items()}
    assert [key for key in keys(bucket) if not key.endswith("/")] == sorted([*expected, "older"])
    assert sorted(os.listdir(mount.path)) == ["new", "older"]
    assert sorted(os.listdir(mount / "new/1")) == sorted(
        os.path.basename(key) for key in expected if key.startswith("new/1/")
    )
    for key, body in expected.items():
        assert mount.read(key) == body, key
    # SeaweedFS goes on listing the emptied prefix, also when the mount has to ask again.
    for _ in range(3):
        assert not os.path.exists(mount / "old")
        assert sorted(os.listdir(mount.path)) == ["new", "older"]
        time.sleep(TTL)
    with pytest.raises(FileNotFoundError):
        open(mount / "old/0/file 3")
    # Who had a file open goes on reading.
    assert os.pread(reader, 1000, 0) == tree["old/0/file 3"]
    os.close(reader)
    # The name is free again, and what is made in the new place is there.
    os.mkdir(mount / "old")
    assert os.listdir(mount / "old") == []
    with open(mount / "new/0/more", "wb") as file:
        file.write(b"more")
    assert bucket.get("new/0/more") == b"more"
    # And back, through the directories that the kernel knows.
    os.rename(mount / "new/0", mount / "old/0")
    assert mount.read("old/0/more") == b"more" and not os.path.exists(mount / "new/0/more")
    # SeaweedFS goes on to list a directory for a while after its last key has gone.
    assert sorted(set(os.listdir(mount / "new")) - {"0"}) == ["1", "2"]


def test_C3_what_is_being_written_below_goes_along(mounted, bucket):
    mount = mounted({"old/a": b"a"})
    file = os.open(mount / "old/b", os.O_CREAT | os.O_RDWR)
    os.write(file, b"first ")
    os.rename(mount / "old", mount / "new")
    os.write(file, b"second")
    assert os.pread(file, 100, 0) == b"first second"
    os.close(file)
    assert bucket.get("new/b") == b"first second" and bucket.get("new/a") == b"a"
    assert mount.read("new/b") == b"first second"
    assert [key for key in keys(bucket) if key.startswith("old/") and key != "old/"] == []


def test_C3_the_rules_of_renaming_a_directory(mounted, bucket):
    mount = mounted({"a/x": b"x", "full/y": b"y", "file": b"f"})
    os.mkdir(mount / "empty")
    assert rename(mount / "a", mount / "full") == errno.ENOTEMPTY
    assert rename(mount / "a", mount / "file") == errno.ENOTDIR
    assert rename(mount / "file", mount / "a") == errno.EISDIR
    assert rename(mount / "a", mount / "a/b") == errno.EINVAL
    assert rename(mount / "a", mount / "empty", RENAME_NOREPLACE) == errno.EEXIST
    assert rename(mount / "a", mount / "empty") == 0
    assert mount.read("empty/x") == b"x" and not os.path.exists(mount / "a")
    assert rename(mount / "full", mount / "empty/full") == 0
    assert run(["mv", mount / "empty/full", mount / "away"]).returncode == 0
    assert mount.read("away/y") == b"y"
    assert [key for key in keys(bucket) if not key.endswith("/")] == ["away/y", "empty/x", "file"]


def test_C3_mv_of_a_tree_into_another_directory_and_cp_of_a_tree(mounted, bucket, tmp_path):
    tree = {f"t/{n}/{m}": bytes_of(1000 * n + m, n * 10 + m) for n in range(4) for m in range(4)}
    mount = mounted(tree)
    os.mkdir(mount / "into")
    assert run(["mv", mount / "t", mount / "into"]).returncode == 0
    with Traffic(mount) as traffic:
        assert run(["cp", "-r", mount / "into/t", mount / "copy"]).returncode == 0
    for key, body in tree.items():
        assert bucket.get("into/" + key) == body and bucket.get("copy" + key[1:]) == body
    assert run(["diff", "-r", mount / "into/t", mount / "copy"]).returncode == 0
    assert traffic.received == 0 and traffic.sent == 0, traffic.requests
    shutil.rmtree(mount / "copy")
    assert keys(bucket, "copy/") == []


def test_C2_a_source_that_is_replaced_before_the_copy_is_stored_fails_it(mounted, bucket):
    data = bytes_of(6 * MIB)
    mount = mounted({"a": data})
    source = os.open(mount / "a", os.O_RDONLY)
    target = os.open(mount / "b", os.O_WRONLY | os.O_CREAT)
    assert os.copy_file_range(source, target, len(data)) == len(data)
    bucket.put("a", bytes_of(6 * MIB, 2))
    with pytest.raises(OSError) as failure:
        os.close(target)
    assert failure.value.errno == errno.ESTALE
    assert keys(bucket) == ["a"], "nothing is mixed"
    os.close(source)


def test_C3_a_killed_renaming_is_finished_by_the_next_mount(weather_mount, proxy, strict_bucket):
    tree = {f"old/{n}": bytes_of(100 + n, n) for n in range(60)}
    for key, body in tree.items():
        strict_bucket.put(key, body)
    mount = weather_mount().start()
    proxy.rules = [{"method": "PUT", "path": "/new/", "delay": 0.5}]
    mover = subprocess.Popen(["mv", mount / "old", mount / "new"], stderr=subprocess.DEVNULL)
    wait_for(lambda: keys(strict_bucket, "new/"), "some copies")
    mount.kill()
    mover.wait(20)
    assert 0 < len(keys(strict_bucket, "new/")) < 60 and len(keys(strict_bucket, "old/")) == 60
    proxy.rules = []
    mount.start()
    wait_for(lambda: keys(strict_bucket, "old/") == [], "the renaming to be finished")
    assert keys(strict_bucket, "new/") == sorted(key.replace("old", "new") for key in tree)
    for key, body in tree.items():
        assert strict_bucket.get(key.replace("old", "new")) == body


@pytest.mark.parametrize("kind", ["fns", "hns"])
def test_C3_directories_of_tos_are_renamed_by_the_store_where_it_can(make_tos_bucket, mounts, kind):
    bucket = make_tos_bucket("moto", type=kind)
    tree = {f"old/{n % 3}/{n}": bytes_of(100 + n, n) for n in range(12)}
    for key, body in tree.items():
        bucket.put(key, io.BytesIO(body))
    mount = mounts(bucket.url, bucket.endpoint).start()
    before = bucket.counts()["requests"].get("CopyObject", 0)
    with Traffic(mount) as traffic:
        assert rename(mount / "old", mount / "new") == 0
    copies = bucket.counts()["requests"].get("CopyObject", 0) - before
    assert traffic.received == 0 and traffic.sent == 0
    assert copies == (0 if kind == "hns" else len(tree)), bucket.counts()
    for key, body in tree.items():
        assert mount.read(key.replace("old", "new")) == body
    assert os.listdir(mount.path) == ["new"]
