"""Files that are wholly in the cache, read by the kernel itself. Test names carry the clause of docs/semantics.md."""

import hashlib
import os
import random
import threading

import pytest

from conftest import TTL, run, wait_for

MIB = 1 << 20


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def bytes_of(size, seed=1):
    return random.Random(seed).randbytes(size)


def started(mount):
    """A mount whose kernel reads by itself; without one there is nothing to test here."""
    mount.start()
    state = mount.status()["passthrough"]
    if state != "on":
        pytest.skip("passthrough is " + state)
    return mount


def counters(mount):
    return mount.status()["counters"]


def opened_by_the_kernel(mount, data):
    """Reads "f" until the kernel does it by itself.

    A close has returned before the daemon hears of it, and an open until then is an ordinary one.
    """
    opens = counters(mount)["passthrough_opens"]
    wait_for(lambda: mount.read("f") == data and counters(mount)["passthrough_opens"] > opens, "a backed open")


def data_files(mount):
    return [os.path.join(root, name) for root, _, names in os.walk(mount.cache) for name in names if name == "data"]


def test_R4_a_warm_file_is_read_without_asking_anybody(weather_mount, strict_bucket, proxy):
    data = bytes_of(9 * MIB + 123)
    strict_bucket.put("f", data)
    mount = started(weather_mount())
    assert sha256(mount.read("f")) == sha256(data)
    assert counters(mount)["passthrough_opens"] == 0
    requests = len(proxy.requests("GET", "/f"))
    opened_by_the_kernel(mount, data)
    before = counters(mount)
    for _ in range(3):
        assert sha256(mount.read("f")) == sha256(data)
    after = counters(mount)
    assert after["passthrough_opens"] == before["passthrough_opens"] + 3
    assert after["cache_hit_bytes"] == before["cache_hit_bytes"]
    assert after["cache_miss_bytes"] == before["cache_miss_bytes"]
    assert len(proxy.requests("GET", "/f")) == requests


def test_R4_what_another_process_fetched_is_verified_before_the_kernel_reads_it(weather_mount, strict_bucket, proxy):
    data = bytes_of(5 * MIB)
    strict_bucket.put("f", data)
    mount = started(weather_mount())
    mount.read("f")
    mount.kill()
    requests = len(proxy.requests("GET", "/f"))
    mount.start()
    assert sha256(mount.read("f")) == sha256(data)
    assert counters(mount)["passthrough_opens"] == 0
    opened_by_the_kernel(mount, data)
    assert len(proxy.requests("GET", "/f")) == requests

    mount.kill()
    [path] = data_files(mount)
    with open(path, "r+b") as file:
        file.seek(3 * MIB)
        file.write(b"tampered")
    mount.start()
    for _ in range(3):
        assert sha256(mount.read("f")) == sha256(data)
    assert counters(mount)["passthrough_opens"] > 0


def test_R4_a_small_file_is_verified_when_it_is_opened(weather_mount, strict_bucket, proxy):
    data = bytes_of(10_000)
    strict_bucket.put("f", data)
    mount = started(weather_mount())
    mount.read("f")
    mount.kill()
    mount.start()
    wait_for(lambda: mount.status()["cache"]["bytes"] > 0, "the cache to be looked through")
    assert mount.read("f") == data
    assert counters(mount)["passthrough_opens"] == 1


def test_R1_an_open_file_goes_on_with_its_version(weather_mount, strict_bucket, proxy):
    old, new = bytes_of(3 * MIB, 1), bytes_of(4 * MIB, 2)
    strict_bucket.put("f", old)
    mount = started(weather_mount())
    opened_by_the_kernel(mount, old)
    with open(mount / "f", "rb") as held:
        assert held.read(1000) == old[:1000]
        strict_bucket.put("f", new)
        wait_for(lambda: sha256(mount.read("f")) == sha256(new), "the new version", 5 * TTL + 15)
        assert held.read() == old[1000:]
        assert sha256(mount.read("f")) == sha256(new)
    assert counters(mount)["passthrough_opens"] >= 2


def test_opens_before_and_after_the_file_is_whole_live_side_by_side(weather_mount, strict_bucket, proxy):
    data = bytes_of(6 * MIB)
    strict_bucket.put("f", data)
    mount = started(weather_mount())
    with open(mount / "f", "rb") as early:
        assert early.read(10) == data[:10]
        assert mount.read("f") == data
        assert mount.read("f") == data
        assert counters(mount)["passthrough_opens"] == 0
        early.seek(0)
        assert early.read() == data
    opened_by_the_kernel(mount, data)


def test_what_the_kernel_reads_is_not_evicted(weather_mount, strict_bucket, proxy):
    data = {name: bytes_of(10 * MIB, seed) for seed, name in enumerate(["a", "b", "c"])}
    for name, body in data.items():
        strict_bucket.put(name, body)
    mount = started(weather_mount(options=["--cache-size", "16M"]))
    mount.read("a")
    with open(mount / "a", "rb") as held:
        assert held.read(5) == data["a"][:5]
        for _ in range(2):
            assert mount.read("b") == data["b"]
            assert mount.read("c") == data["c"]
        assert held.read() == data["a"][5:]
        assert mount.read("a") == data["a"]
    for name, body in data.items():
        assert mount.read(name) == body


def test_many_readers_of_many_files_see_the_right_bytes(weather_mount, strict_bucket, proxy):
    data = {"f%d" % i: bytes_of(200_000 + i, i) for i in range(8)}
    for name, body in data.items():
        strict_bucket.put(name, body)
    mount = started(weather_mount())
    wrong = []

    def reader(seed):
        order = random.Random(seed)
        for _ in range(60):
            name = order.choice(sorted(data))
            try:
                if mount.read(name) != data[name]:
                    wrong.append(name)
            except OSError as failure:
                wrong.append("%s: %s" % (name, failure))

    threads = [threading.Thread(target=reader, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert counters(mount)["passthrough_opens"] > 0


def test_unwanted_the_kernel_asks_for_every_byte(weather_mount, strict_bucket, proxy):
    data = bytes_of(2 * MIB)
    strict_bucket.put("f", data)
    mount = weather_mount(options=["--no-passthrough"]).start()
    assert mount.status()["passthrough"] == "off: not wanted"
    for _ in range(2):
        assert mount.read("f") == data
    assert counters(mount)["passthrough_opens"] == 0
    listed = weather_mount(options=["-o", "no-passthrough"]).start()
    assert listed.status()["passthrough"] == "off: not wanted"


def test_a_mount_in_use_by_the_kernel_ends_like_any(weather_mount, strict_bucket, proxy):
    data = bytes_of(2 * MIB)
    strict_bucket.put("f", data)
    mount = started(weather_mount())
    mount.read("f")
    with open(mount / "f", "rb") as held:
        assert held.read(5) == data[:5]
        assert mount.stop().returncode != 0
    wait_for(lambda: mount.stop().returncode == 0, "the unmount")
    assert run(["ls", mount.path]).stdout == ""


def test_W2_a_file_that_the_kernel_reads_by_itself_can_be_written(weather_mount, strict_bucket):
    data = bytes_of(3 * MIB)
    strict_bucket.put("f", data)
    mount = started(weather_mount())
    opened_by_the_kernel(mount, data)
    with open(mount / "f", "rb", buffering=0) as reader:
        assert reader.read(100) == data[:100]
        with open(mount / "f", "ab") as writer:
            writer.write(b"more")
        with open(mount / "f", "r+b") as writer:
            writer.write(b"begin")
        changed = b"begin" + data[5:] + b"more"
        # Who had it open reads what it was, and whoever opens it what it is.
        assert reader.read() == data[100:] and os.fstat(reader.fileno()).st_size == len(data)
        assert mount.read("f") == changed and os.stat(mount / "f").st_size == len(changed)
        os.truncate(mount / "f", 5)
        assert os.pread(reader.fileno(), 5, 0) == data[:5] and mount.read("f") == b"begin"
    assert strict_bucket.get("f") == b"begin"
    # From then on all read and write the same.
    with open(mount / "f", "rb", buffering=0) as reader, open(mount / "f", "ab", buffering=0) as writer:
        writer.write(b"!")
        assert reader.read() == b"begin!"


def test_W2_a_file_that_the_kernel_reads_by_itself_can_be_replaced(weather_mount, strict_bucket):
    data = bytes_of(2 * MIB)
    strict_bucket.put("f", data)
    mount = started(weather_mount())
    opened_by_the_kernel(mount, data)
    with open(mount / "f", "rb", buffering=0) as reader:
        assert reader.read(1) == data[:1]
        with open(mount / "f", "wb") as writer:
            writer.write(b"new")
        assert reader.read() == data[1:] and mount.read("f") == b"new"
    assert strict_bucket.get("f") == b"new"
