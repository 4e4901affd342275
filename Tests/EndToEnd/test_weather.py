"""Bad weather: no wrong byte, no hang, the errno named."""

import errno
import os
import random
import signal
import subprocess
import time

import pytest

from conftest import TTL, alive, is_mounted, run, wait_for

MIB = 1 << 20
SLOW_DOWN = "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message><RequestId>REQ1</RequestId></Error>"


@pytest.fixture(scope="module")
def data():
    return random.Random(21).randbytes(48 * MIB)


@pytest.fixture
def reading(weather_mount, strict_bucket, data):
    def make(**facts):
        strict_bucket.put("d/f", data)
        mount = weather_mount(**facts).start()
        os.listdir(mount / "d")
        return mount

    return make


@pytest.mark.parametrize("rule", [
    {"status": 503, "body": SLOW_DOWN, "times": 4},
    {"status": 429, "body": SLOW_DOWN, "headers": {"retry-after": "1"}, "times": 3},
    {"status": 500, "body": "", "times": 3},
    {"status": 502, "body": "<html>bad gateway</html>", "times": 3},
    {"reset_after": 100000, "times": 5},
    {"reset_after": 0, "times": 3},
    {"truncate_after": 1234567, "times": 5},
    {"status": 200, "body": b"x" * 1000, "times": 3},
    {"rewrite": lambda s, h, b: (200, {k: v for k, v in h.items() if k != "content-range"}, b), "times": 3},
    {"rewrite": lambda s, h, b: (s, {**h, "content-range": "bytes 1-2/3"}, b), "times": 3},
    {"rewrite": lambda s, h, b: (s, h, b + b"tail"), "times": 3},
    {"rewrite": lambda s, h, b: (s, h, b[:-10]), "times": 3},
], ids=["503", "429", "500", "502html", "reset", "reset-at-0", "truncated", "200-short", "200-for-206", "wrong-range", "long", "short"])
def test_faults_in_the_middle_of_a_read_are_survived(reading, proxy, data, rule):
    mount = reading()
    proxy.rules = [{"method": "GET", "path": "/d/f$", **rule}]
    assert mount.read("d/f") == data
    assert proxy.rules[0]["times"] == 0, "the fault never happened"


def test_a_stalled_body_is_given_up_and_tried_again(reading, proxy, data):
    mount = reading(options=["--deadline", "120"])
    proxy.rules = [{"method": "GET", "path": "/d/f$", "stall_after": 300000, "times": 1}]
    assert mount.read("d/f") == data


@pytest.mark.parametrize("body", ["", "<ListBucketResult><Contents><Key>x", "garbage", "<html></html>",
                                  '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><ListBucketResult><Name>&b;</Name></ListBucketResult>'])
def test_a_garbled_listing_is_an_error_and_then_recovers(weather_mount, proxy, strict_bucket, body):
    strict_bucket.put("d/f", b"x")
    mount = weather_mount(options=["--deadline", "3"]).start()
    proxy.rules = [{"query": "list-type", "status": 200, "body": body}]
    with pytest.raises(OSError) as failure:
        os.listdir(mount / "d")
    assert failure.value.errno in (errno.EIO, errno.ETIMEDOUT)
    proxy.rules = []
    assert os.listdir(mount / "d") == ["f"]


def test_R5_a_dead_network_ends_by_the_deadline(reading, proxy, data):
    mount = reading(options=["--deadline", "4", "--metadata-ttl", "1"])
    with open(mount / "d/f", "rb", buffering=0) as file:
        file.read(4096)
        proxy.go_offline()
        begin = time.monotonic()
        with pytest.raises(OSError) as failure:
            os.pread(file.fileno(), 4096, 40 * MIB)
        took = time.monotonic() - begin
        assert failure.value.errno == errno.ETIMEDOUT
        assert took < 4 + 2, took
    time.sleep(1.5)
    assert os.listdir(mount / "d") == ["f"], "what is known can't be listed"
    proxy.go_online()
    assert mount.read("d/f") == data


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_R5_a_reader_dies_at_once_while_the_store_is_silent(reading, proxy, signal_number):
    mount = reading()
    proxy.rules = [{"hole": True}]
    # cat leaves the signals as they are; dd catches SIGINT, and the kernel ends a wait for a page only
    # for a signal that kills.
    # A job in a shell's background ignores SIGINT, and so would the tests' children.
    reader = subprocess.Popen(["env", "--default-signal=INT", "cat", mount / "d/f"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: proxy.requests("GET", "/d/f"), "the read to reach the store")
    begin = time.monotonic()
    reader.send_signal(signal_number)
    reader.wait(timeout=5)
    assert time.monotonic() - begin < 1.5
    begin = time.monotonic()
    assert mount.stop().returncode == 0
    assert time.monotonic() - begin < 10
    assert not is_mounted(mount.path)


def test_O2_sigterm_unmounts_while_a_read_hangs(reading, proxy):
    mount = reading()
    pid = mount.pid
    proxy.rules = [{"hole": True}]
    reader = subprocess.Popen(["cat", mount / "d/f"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: proxy.requests("GET", "/d/f"), "the read to reach the store")
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: not alive(pid), "the daemon to end", 20)
    assert not is_mounted(mount.path)
    reader.wait(timeout=10)


def test_O2_signals_unmount_cleanly(weather_mount, strict_bucket):
    strict_bucket.put("f", b"x")
    for number in (signal.SIGTERM, signal.SIGINT):
        mount = weather_mount().start()
        pid = mount.pid
        assert mount.read("f") == b"x"
        os.kill(pid, number)
        wait_for(lambda: not alive(pid), "the daemon to end")
        assert not is_mounted(mount.path)


def test_signals_that_mean_nothing_leave_the_mount_alone(weather_mount, strict_bucket):
    strict_bucket.put("f", b"x")
    mount = weather_mount().start()
    pid = mount.pid
    for number in (signal.SIGIO, signal.SIGVTALRM, signal.SIGPROF, signal.SIGSTKFLT, signal.SIGXFSZ,
                   signal.SIGRTMIN, signal.SIGRTMIN + 5, signal.SIGRTMAX):
        os.kill(pid, number)
    assert mount.read("f") == b"x"
    assert mount.pid == pid
    os.kill(pid, signal.SIGPWR)
    wait_for(lambda: not alive(pid), "the daemon to end")
    assert not is_mounted(mount.path)


def test_the_object_changes_while_it_is_read(reading, proxy, strict_bucket, data):
    mount = reading()
    for change in (lambda: strict_bucket.put("d/f", data[::-1]), lambda: strict_bucket.put("d/f", data[: 5 * MIB]),
                   lambda: strict_bucket.put("d/f", data + data[: 3 * MIB]), lambda: strict_bucket.delete("d/f")):
        strict_bucket.put("d/f", data)
        time.sleep(TTL + 0.5)
        with open(mount / "d/f", "rb", buffering=0) as file:
            assert file.read(4096) == data[:4096]
            change()
            with pytest.raises(OSError) as failure:
                at = 4096
                while True:
                    piece = os.pread(file.fileno(), MIB, at)
                    assert piece == data[at : at + len(piece)], "bytes of another version"
                    if not piece:
                        # All of it was on its way already; then the whole old version is right.
                        assert at == len(data)
                        raise OSError(errno.ESTALE, "read to the end")
                    at += len(piece)
            assert failure.value.errno == errno.ESTALE


def test_O4_a_failure_is_told_with_its_reason(reading, proxy):
    mount = reading(options=["--deadline", "3"])
    denied = "<Error><Code>AccessDenied</Code><Message>no</Message><RequestId>REQ77</RequestId></Error>"
    proxy.rules = [{"method": "GET", "path": "/d/f$", "status": 403, "body": denied}]
    with pytest.raises(OSError) as failure:
        mount.read("d/f")
    assert failure.value.errno == errno.EACCES
    told = [e for e in mount.status()["errors"] if e["path"] == "d/f"]
    assert told and told[-1]["errno"] == "EACCES" and told[-1]["code"] == "AccessDenied"
    assert told[-1]["request_id"] == "REQ77" and told[-1]["operation"] == "read"
    assert "REQ77" in mount.log() and "d/f" in mount.log()
    assert b"AccessDenied" in os.getxattr(mount / "d/f", "user.dipper.last-error")


def test_G4_repeated_failures_do_not_flood_the_log(reading, proxy):
    mount = reading(options=["--deadline", "2"])
    proxy.rules = [{"method": "GET", "path": "/d/f$", "status": 403, "body": ""}]
    for _ in range(300):
        with pytest.raises(OSError):
            mount.read("d/f")
    assert len(mount.log().splitlines()) < 100
