"""What root sees of other users' mounts, and whom it believes."""

import json
import os
import shutil
import textwrap

import pytest

from conftest import DIPPER, run

USER = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounts as another user, and as root")

# Answers whoever connects as a daemon would, about mounts that aren't its own.
LIAR = textwrap.dedent("""
    import json, os, socket, sys
    path, claims = sys.argv[1], sys.argv[2:]
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    listeners = []
    for number, claim in enumerate(claims):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path + "%d.sock" % number)
        listener.listen()
        listeners.append((listener, claim))
    print("ready", flush=True)
    while True:
        for listener, claim in listeners:
            connection, _ = listener.accept()
            connection.recv(1000)
            status = {"mountpoint": claim, "bucket": "s3://lies", "pid": 1, "answers": True}
            connection.sendall(json.dumps({"status": status}).encode() + b"\\n")
            connection.close()
""")

# Listens and takes nobody's call, takes a call and says nothing, and answers without an end.
MUTE = textwrap.dedent("""
    import socket, sys, threading, time
    def listen(name):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(sys.argv[1] + name + ".sock")
        listener.listen(0)
        return listener
    listeners = [listen("deaf"), listen("silent"), listen("endless")]
    callers = []
    for _ in range(4):
        caller = socket.socket(socket.AF_UNIX)
        caller.setblocking(False)
        try:
            caller.connect(sys.argv[1] + "deaf.sock")
        except BlockingIOError:
            pass
        callers.append(caller)
    print("ready", flush=True)
    def speak(connection):
        try:
            while True:
                connection.sendall(b" ")
                time.sleep(0.2)
        except OSError:
            pass
    def serve(listener, act):
        while True:
            connection, _ = listener.accept()
            callers.append(connection)
            threading.Thread(target=act, args=(connection,), daemon=True).start()
    threading.Thread(target=serve, args=(listeners[1], lambda connection: None), daemon=True).start()
    serve(listeners[2], speak)
""")


@pytest.fixture
def script(tmp_path):
    """Runs lines of shell in a mount namespace of its own, where users have directories in /run."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(DIPPER, home / "dipper")
    (home / "liar.py").write_text(LIAR)
    (home / "mute.py").write_text(MUTE)
    for path in [tmp_path, *list(tmp_path.parents)[:3]]:
        if path != path.parent:
            os.chmod(path, 0o755)
    shutil.chown(home, USER, USER)
    os.mkdir(home / "bucket")
    (home / "bucket" / "f").write_text("text")

    def go(lines):
        head = """
            set -eu
            mount --make-rprivate /
            mount -t tmpfs tmpfs /run
            mkdir /run/user
            install -d -o %(user)d -m 700 /run/user/%(user)d
            mknod -m 666 %(home)s/fuse c 10 229
            mount --bind %(home)s/fuse /dev/fuse
            as_user="setpriv --reuid=%(user)d --regid=%(user)d --clear-groups"
            cd %(home)s
        """ % {"user": USER, "home": home}
        result = run(["unshare", "-m", "sh", "-c", head + lines % {"home": home, "user": USER}],
                     environment={"HOME": str(home), "XDG_RUNTIME_DIR": None})
        assert result.returncode == 0, result
        return home, result.stdout

    return go


def test_root_sees_the_mounts_of_other_users(script):
    home, output = script("""
        $as_user mkdir mnt
        $as_user ./dipper mount file://%(home)s/bucket mnt --cache-dir cache
        ./dipper status --json
        echo ----
        ./dipper status %(home)s/mnt
        $as_user ./dipper unmount mnt
    """)
    report, text = output.split("----")
    statuses = {status["mountpoint"]: status for status in json.loads(report)["mounts"]}
    status = statuses[str(home / "mnt")]
    assert status["answers"] is True and status["user"] == USER and status["state"] == "serving"
    assert status["counters"]["requests"]
    assert "of the user with the id %d" % USER in text


def test_root_believes_nobody_about_mounts_that_are_not_theirs(script):
    home, output = script("""
        mkdir roots
        ./dipper mount file://%(home)s/bucket roots --cache-dir roots.cache
        $as_user mkdir mnt
        $as_user ./dipper mount file://%(home)s/bucket mnt --cache-dir cache
        $as_user /usr/bin/python3 liar.py /run/user/%(user)d/dipper/lie %(home)s/roots /no/such/mount > lies &
        trap "kill $!" EXIT
        for _ in $(seq 200); do grep -q ready lies && break; sleep 0.05; done; grep -q ready lies
        ./dipper status --json
        ./dipper unmount roots
        $as_user ./dipper unmount mnt
    """)
    buckets = {status["mountpoint"]: status["bucket"] for status in json.loads(output)["mounts"]}
    assert buckets[str(home / "roots")].startswith("file://")
    assert buckets[str(home / "mnt")].startswith("file://")
    assert "/no/such/mount" not in buckets


def test_root_waits_for_nobody_elses_sockets(script):
    """What another user puts in place of a socket, or behind it, costs root a moment."""
    home, output = script("""
        $as_user mkdir mnt
        $as_user ./dipper mount file://%(home)s/bucket mnt --cache-dir cache
        $as_user mkfifo -m 600 /run/user/%(user)d/dipper/a-pipe.sock
        $as_user ln -s /dev/zero /run/user/%(user)d/dipper/b-link.sock
        $as_user mkdir /run/user/%(user)d/dipper/c-directory.sock
        $as_user /usr/bin/python3 mute.py /run/user/%(user)d/dipper/mute > mutes &
        trap "kill $!" EXIT
        for _ in $(seq 200); do grep -q ready mutes && break; sleep 0.05; done; grep -q ready mutes
        timeout -s KILL 20 ./dipper status --json
        $as_user ./dipper unmount mnt
    """)
    # Root's status tells of everybody's mounts, those of tests beside this one, too.
    assert str(home / "mnt") in [status["mountpoint"] for status in json.loads(output)["mounts"]]
