"""Runs the program under test, and others, with bounds."""

import os
import re
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIPPER = os.environ.get("DIPPER_BINARY") or os.path.join(ROOT, ".build", "debug", "dipper")


def run(command, timeout=60, environment=None, user=None, **options):
    """Runs a command with a bound; a stuck one is killed and fails the test."""
    full = {**os.environ, **(environment or {})}
    full = {name: value for name, value in full.items() if value is not None}
    return subprocess.run(command, timeout=timeout, env=full, capture_output=True, text=True,
                          user=user, **options)


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition, what, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("waited %s s for %s" % (seconds, what))


def one_sentence(text):
    """The message on standard error is one sentence, without a trace or a Swift type in it."""
    lines = [line for line in text.strip().splitlines() if line]
    assert len(lines) == 1, text
    assert not re.search(r"Optional\(|Fatal error|StoreError\(|Kind\.", text), text
    return lines[0]
