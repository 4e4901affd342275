"""Signals that come while something can't end by itself."""

import fcntl
import os
import signal
import struct
import subprocess
import termios

import pytest

from conftest import DIPPER, alive, is_mounted, one_sentence, wait_for

MIB = 1 << 20


def is_pending(pid, number):
    """A signal was sent to a process and has not been taken."""
    with open("/proc/%d/status" % pid) as file:
        fields = dict(line.split(":", 1) for line in file)
    return int(fields["ShdPnd"], 16) >> (number - 1) & 1 == 1


def unread(pipe):
    """Bytes that lie in a pipe."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0]


def children(pid):
    with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
        return [int(word) for word in file.read().split()]


def test_a_second_signal_ends_a_get_whose_reader_has_stopped(strict_bucket):
    """The first one asks for an end, which a write that nobody takes can't notice."""
    strict_bucket.put("f", b"x" * (4 * MIB))
    process = subprocess.Popen([DIPPER, "get", strict_bucket.url + "/f", "-", "--endpoint", strict_bucket.endpoint],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert os.read(process.stdout.fileno(), 1) == b"x"
        # A pipe holds 64 KiB; when it takes no more, the write hangs.
        wait_for(lambda: unread(process.stdout) >= (64 << 10) - 1, "the pipe to be full")
        os.kill(process.pid, signal.SIGTERM)
        wait_for(lambda: not is_pending(process.pid, signal.SIGTERM), "the first signal to be taken")
        assert process.poll() is None, "the write that hangs was given up"
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(timeout=10) == 128 + signal.SIGINT
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("name", ["INT", "TERM"])
def test_a_mount_that_is_stopped_while_it_starts_leaves_nothing(weather_mount, proxy, name):
    mount = weather_mount(options=["--deadline", "60"])
    proxy.rules = [{"hole": True}]
    os.makedirs(mount.path)
    starter = subprocess.Popen(mount.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: proxy.requests(), "the daemon to ask for the bucket")
        daemons = children(starter.pid)
        assert len(daemons) == 1, daemons
        starter.send_signal(getattr(signal, "SIG" + name))
        _, said = starter.communicate(timeout=15)
    finally:
        starter.kill()
        starter.communicate()
    assert starter.returncode == 1
    assert "stopped before anything was mounted" in one_sentence(said)
    wait_for(lambda: not alive(daemons[0]), "the daemon to end")
    assert not is_mounted(mount.path)
