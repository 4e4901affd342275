"""What was fetched is not fetched again: after kill -9, a remount, a dropped line."""

import hashlib
import os
import random
import signal
import subprocess
import time

import pytest

from conftest import DIPPER, alive, is_mounted, one_sentence, run, wait_for
from weather import SEND_BUFFER

MIB = 1 << 20
# Parts that a mount fetches at a time, and how much of one a line of its checkpoint covers.
PARALLEL = 8
UNIT = MIB


@pytest.fixture(scope="module")
def data():
    return random.Random(11).randbytes(160 * MIB)


def read_until(path, count):
    file = os.open(path, os.O_RDONLY)
    done = 0
    while done < count:
        done += len(os.read(file, MIB))
    return file


def test_R4_after_kill_9_nothing_recorded_is_fetched_again(weather_mount, proxy, strict_bucket, data):
    strict_bucket.put("f", data)
    mount = weather_mount().start()
    # Slow enough that what is fetched ahead is not all of the rest.
    proxy.rules = [{"method": "GET", "path": "/f$", "rate": 4 * MIB}]
    file = read_until(mount / "f", int(len(data) * 0.5))
    mount.kill()
    os.close(file)
    assert proxy.body_bytes("/f") < len(data), "the whole object was there before the kill"
    proxy.rules = []
    mount.start()  # over the dead mount, which it clears
    assert hashlib.sha256(mount.read("f")).digest() == hashlib.sha256(data).digest()
    # Of each part in flight, the unit that had no line in the checkpoint yet, and what lay in its
    # connection.
    assert proxy.body_bytes("/f") <= len(data) + PARALLEL * (UNIT + 2 * SEND_BUFFER)


def test_R4_after_a_clean_unmount_nothing_is_fetched_again(weather_mount, proxy, strict_bucket, data):
    strict_bucket.put("f", data[: 64 * MIB])
    mount = weather_mount().start()
    assert mount.read("f") == data[: 64 * MIB]
    assert mount.stop().returncode == 0
    before = proxy.body_bytes("/f")
    mount.start()
    assert mount.read("f") == data[: 64 * MIB]
    assert proxy.body_bytes("/f") == before


@pytest.mark.parametrize("damage", ["truncate", "flip", "checkpoint", "version", "foreign"])
def test_R4_damaged_cache_files_are_never_served(weather_mount, proxy, strict_bucket, data, damage):
    strict_bucket.put("f", data[: 24 * MIB])
    mount = weather_mount().start()
    assert mount.read("f") == data[: 24 * MIB]
    assert mount.stop().returncode == 0
    files = {name: [] for name in ("data", "checkpoint")}
    for root, _, names in os.walk(mount.cache):
        for name in names:
            if name in files:
                files[name].append(os.path.join(root, name))
    assert len(files["data"]) == 1 and len(files["checkpoint"]) == 1, files
    body, checkpoint = files["data"][0], files["checkpoint"][0]
    if damage == "truncate":
        os.truncate(body, 5 * MIB + 17)
    elif damage == "flip":
        with open(body, "r+b") as file:
            file.seek(9 * MIB + 5)
            byte = file.read(1)
            file.seek(9 * MIB + 5)
            file.write(bytes([byte[0] ^ 1]))
    elif damage == "checkpoint":
        with open(checkpoint, "r+b") as file:
            file.seek(3)
            file.write(os.urandom(200))
    elif damage == "version":
        text = open(checkpoint).read()
        first, rest = text.split("\n", 1)
        open(checkpoint, "w").write(first.replace("1", "99") + "\n" + rest)
    elif damage == "foreign":
        text = open(checkpoint).read()
        etag = strict_bucket.s3.head_object(Bucket=strict_bucket.name, Key="f")["ETag"].strip('"')
        open(checkpoint, "w").write(text.replace(etag, "0" * len(etag)))
    mount.start()
    assert mount.read("f") == data[: 24 * MIB]


def test_R5_a_dropped_line_goes_on_where_it_stopped(weather_mount, proxy, strict_bucket, data):
    strict_bucket.put("f", data)
    mount = weather_mount().start()
    with open(mount / "f", "rb") as file:
        first = file.read(24 * MIB)  # from here on every request is for a part of 8 MiB
        proxy.rules = [{"method": "GET", "path": "/f$", "reset_after": 3 * MIB, "times": 6}]
        assert first + file.read() == data[: 160 * MIB]
    assert sum(r.get("is_cut", False) for r in proxy.requests("GET", "/f")) == 6
    # What arrived before a reset is kept to the byte; what lay in the proxy's socket went with it.
    assert proxy.body_bytes("/f") <= 160 * MIB + 6 * 2 * SEND_BUFFER


def get(url, target, endpoint, *options, **more):
    return run([DIPPER, "get", url, str(target), "--endpoint", endpoint, *options], **more)


def start_get(url, target, endpoint, *options):
    return subprocess.Popen([DIPPER, "get", url, str(target), "--endpoint", endpoint, *options],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def files_of(directory):
    return sorted(os.listdir(directory))


def test_get_brings_the_object_and_leaves_nothing_else(bucket, tmp_path, data):
    bucket.put("d/f", data[: 30 * MIB])
    target = tmp_path / "out" / "f"
    target.parent.mkdir()
    result = get(bucket.url + "/d/f", target, bucket.endpoint, "--part-size", "5M")
    assert result.returncode == 0, result.stderr
    assert target.read_bytes() == data[: 30 * MIB]
    assert files_of(target.parent) == ["f"]


def test_get_of_an_empty_object(bucket, tmp_path):
    bucket.put("e", b"")
    assert get(bucket.url + "/e", tmp_path / "e", bucket.endpoint).returncode == 0
    assert (tmp_path / "e").read_bytes() == b""


def test_get_to_standard_output(bucket, data):
    bucket.put("f", data[: 12 * MIB])
    result = subprocess.run([DIPPER, "get", bucket.url + "/f", "-", "--endpoint", bucket.endpoint],
                            capture_output=True, timeout=60)
    assert result.returncode == 0 and result.stdout == data[: 12 * MIB]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_get_goes_on_where_it_was_stopped(proxy, strict_bucket, tmp_path, data, how):
    strict_bucket.put("f", data)
    out = tmp_path / "out"
    out.mkdir()
    (out / "f").write_bytes(b"old")
    proxy.rules = [{"method": "GET", "path": "/f$", "rate": 24 * MIB}]
    process = start_get(strict_bucket.url + "/f", out / "f", proxy.url, "--part-size", "5M", "--parallel", "4")
    wait_for(lambda: proxy.body_bytes("/f") > 0.5 * len(data), "half of the object", 60)
    process.send_signal(how)
    _, message = process.communicate(timeout=20)
    if how == signal.SIGKILL:
        assert process.returncode == -9
    else:
        assert process.returncode == 128 + how
        assert "resume" in message
    assert (out / "f").read_bytes() == b"old", "the target changed before the end"
    proxy.rules = []
    result = get(strict_bucket.url + "/f", out / "f", proxy.url, "--part-size", "5M", "--parallel", "4")
    assert result.returncode == 0, result.stderr
    assert (out / "f").read_bytes() == data
    assert files_of(out) == ["f"]
    assert proxy.body_bytes("/f") <= len(data) + 5 * 5 * MIB


def test_get_refuses_to_mix_versions(proxy, strict_bucket, tmp_path, data):
    strict_bucket.put("f", data)
    proxy.rules = [{"method": "GET", "path": "/f$", "rate": 24 * MIB}]
    process = start_get(strict_bucket.url + "/f", tmp_path / "f", proxy.url, "--part-size", "5M")
    wait_for(lambda: proxy.body_bytes("/f") > 40 * MIB, "some parts", 60)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    proxy.rules = []
    other = data[::-1][: 50 * MIB]
    strict_bucket.put("f", other)
    result = get(strict_bucket.url + "/f", tmp_path / "f", proxy.url, "--part-size", "5M")
    assert result.returncode == 3, result
    one_sentence(result.stderr)
    assert not (tmp_path / "f").exists()
    result = get(strict_bucket.url + "/f", tmp_path / "f", proxy.url, "--part-size", "5M", "--force-restart")
    assert result.returncode == 0 and (tmp_path / "f").read_bytes() == other


def test_get_with_other_arguments_says_which_differs(proxy, strict_bucket, tmp_path, data):
    strict_bucket.put("f", data)
    proxy.rules = [{"method": "GET", "path": "/f$", "rate": 24 * MIB}]
    process = start_get(strict_bucket.url + "/f", tmp_path / "f", proxy.url, "--part-size", "5M")
    wait_for(lambda: proxy.body_bytes("/f") > 40 * MIB, "some parts", 60)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    proxy.rules = []
    result = get(strict_bucket.url + "/f", tmp_path / "f", proxy.url, "--part-size", "6M")
    assert result.returncode == 1 and "another --part-size" in one_sentence(result.stderr), result
    result = get(strict_bucket.url + "/f", tmp_path / "f", proxy.url, "--part-size", "5M", "--abort")
    assert result.returncode == 0, result
    assert files_of(tmp_path) == [], "state is left after --abort"


def test_two_gets_of_one_target_do_not_run_together(proxy, strict_bucket, tmp_path, data):
    strict_bucket.put("f", data)
    proxy.rules = [{"method": "GET", "path": "/f$", "rate": 8 * MIB}]
    process = start_get(strict_bucket.url + "/f", tmp_path / "f", proxy.url, "--part-size", "5M")
    try:
        wait_for(lambda: proxy.body_bytes("/f") > 5 * MIB, "the first to run", 60)
        result = get(strict_bucket.url + "/f", tmp_path / "f", proxy.url, "--part-size", "5M")
        assert result.returncode == 4, result
        assert str(process.pid) in one_sentence(result.stderr)
    finally:
        process.kill()
        process.communicate()


def test_O6_two_daemons_do_not_share_a_cache(strict_bucket, mounts, tmp_path):
    strict_bucket.put("f", b"x")
    first = mounts(strict_bucket.url, strict_bucket.endpoint, cache=tmp_path / "cache").start()
    second = mounts(strict_bucket.url, strict_bucket.endpoint, cache=tmp_path / "cache")
    result = second.try_start()
    assert result.returncode != 0 and str(first.pid) in one_sentence(result.stderr)
    assert not is_mounted(second.path)
    assert first.read("f") == b"x"


def test_a_dead_mount_that_the_kernel_remembers_is_cleared_by_the_next(strict_bucket, mounts):
    """With attributes that the kernel still believes, as after any `ls` with the default lifetime."""
    strict_bucket.put("d/f", b"x")
    mount = mounts(strict_bucket.url, strict_bucket.endpoint, options=["--metadata-ttl", "60"]).start()
    assert os.listdir(mount / "d") == ["f"]
    os.stat(mount.path)
    mount.kill()
    mount.start()
    assert mount.read("d/f") == b"x"


def test_a_stale_mount_is_recognised_and_cleared(strict_bucket, mounts):
    strict_bucket.put("f", b"x")
    mount = mounts(strict_bucket.url, strict_bucket.endpoint).start()
    mount.kill()
    with pytest.raises(OSError) as failure:
        os.listdir(mount.path)
    assert failure.value.errno == 107
    assert mount.stop().returncode == 0
    assert not is_mounted(mount.path) and os.listdir(mount.path) == []
