"""R5: one system call ends by one deadline, however many operations the kernel makes of it."""

import errno
import os
import subprocess
import sys
import threading
import time

import pytest

from conftest import DIPPER, run

SLOW_DOWN = "<Error><Code>SlowDown</Code><Message>no</Message></Error>"


def timed(call):
    """The errno of a call that fails, and how long it took."""
    begin = time.monotonic()
    with pytest.raises(OSError) as failure:
        call()
    return failure.value.errno, time.monotonic() - begin


@pytest.mark.parametrize("call", [
    lambda m: os.stat(m / "d/unknown"),
    lambda m: os.listdir(m / "other"),
    lambda m: open(m / "d/e/unknown", "rb"),
    lambda m: os.stat(m / "none/of/this"),
], ids=["stat", "ls", "open", "deep"])
def test_R5_a_call_on_a_dead_network_takes_one_deadline(weather_mount, proxy, strict_bucket, call):
    strict_bucket.put("d/e/f", b"x")
    strict_bucket.put("other/g", b"x")
    mount = weather_mount(options=["--deadline", "4", "--metadata-ttl", "1"]).start()
    os.stat(mount / "d/e/f")
    time.sleep(1.1)  # what is known has to be confirmed now
    proxy.rules = [{"hole": True}]
    number, took = timed(lambda: call(mount))
    assert number == errno.ETIMEDOUT
    assert took < 4 + 2, took
    told = mount.status()["errors"]
    assert len({(e["operation"], e["path"]) for e in told}) == len(told), told


def test_a_limit_of_retries_holds_for_names_too(weather_mount, proxy, strict_bucket):
    strict_bucket.put("d/f", b"x")
    mount = weather_mount(options=["--max-retries", "2", "--deadline", "30"]).start()
    proxy.rules = [{"status": 503, "body": SLOW_DOWN}]
    for call, method, query in (
        (lambda: os.stat(mount / "g"), "HEAD", ""),
        (lambda: os.listdir(mount.path), "GET", "list-type"),
    ):
        mark = proxy.mark()
        number, _ = timed(call)
        assert number == errno.ETIMEDOUT
        tries = [r for r in proxy.requests(method, since=mark) if query in r["query"]]
        assert len(tries) == 3, tries


def test_a_prefix_with_nothing_below_it_is_mounted_with_a_warning(strict_bucket, mounts):
    strict_bucket.put("logs/2026/f", b"x")
    right = mounts(strict_bucket.url + "/logs", strict_bucket.endpoint)
    assert "nothing exists" not in right.try_start().stderr
    wrong = mounts(strict_bucket.url + "/log", strict_bucket.endpoint)
    result = wrong.try_start()
    assert result.returncode == 0
    assert result.stderr.count('nothing exists below "log/"') == 1, result.stderr
    assert 'nothing exists below' in wrong.log()
    assert os.listdir(wrong.path) == []
    assert run([DIPPER, "unmount", wrong.path]).returncode == 0


MAPPED = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    print(mapped[int(sys.argv[2])])
"""


@pytest.fixture
def silent(weather_mount, proxy, strict_bucket):
    """A mount with a file of 32 MiB, whose first bytes are there, and a store that brings no more."""
    strict_bucket.put("d/f", b"x" * (32 << 20))
    mount = weather_mount(options=["--deadline", "3"]).start()
    with open(mount / "d/f", "rb", buffering=0) as file:
        file.read(4096)
        proxy.rules = [{"method": "GET", "stall_after": 0}]
        yield mount, file


def test_R5_a_long_read_waits_one_deadline(silent):
    _, file = silent
    number, took = timed(lambda: os.pread(file.fileno(), 8 << 20, 16 << 20))
    assert number == errno.ETIMEDOUT
    assert took < 3 + 2, took


def test_R5_a_fault_of_a_mapped_page_waits_one_deadline(silent):
    mount, _ = silent
    begin = time.monotonic()
    result = subprocess.run([sys.executable, "-c", MAPPED, mount / "d/f", str(20 << 20)],
                            timeout=60, capture_output=True)
    assert result.returncode < 0, "it ends by a signal"
    assert time.monotonic() - begin < 3 + 2


def test_R5_many_handles_on_one_page_wait_one_deadline(silent):
    mount, _ = silent
    waits = []

    def read():
        with open(mount / "d/f", "rb", buffering=0) as file:
            waits.append(timed(lambda: os.pread(file.fileno(), 4096, 24 << 20)))

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [number for number, _ in waits] == [errno.ETIMEDOUT] * 8
    assert max(took for _, took in waits) < 3 + 2, waits
