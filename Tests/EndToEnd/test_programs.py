"""The programs: status, ls, demo, help, fstab, the local store."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import DIPPER, ROOT, alive, is_mounted, one_sentence, run, wait_for

MIB = 1 << 20


def test_version_and_help():
    version = run([DIPPER, "--version"])
    assert version.returncode == 0 and re.fullmatch(r"dipper \d+\.\d+\.\d+\n", version.stdout)
    top = run([DIPPER, "--help"])
    assert top.returncode == 0
    for command in ("mount", "unmount", "status", "get", "ls", "demo"):
        assert command in top.stdout
        detail = run([DIPPER, command, "--help"])
        assert detail.returncode == 0 and command in detail.stdout
    assert "--metadata-ttl" in run([DIPPER, "mount", "--help"]).stdout


def test_status_keeps_its_contract(bucket, mounts):
    bucket.put("f", b"x" * 1000)
    mount = mounts(bucket.url, bucket.endpoint).start()
    mount.read("f")
    status = mount.status()
    assert status["bucket"] == bucket.url and status["read_only"] is False
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", status["since"])
    assert set(status["cache"]) >= {"directory", "bytes", "limit_bytes", "dirty_bytes"}
    assert status["memory"]["resident_bytes"] > 0 and status["memory"]["budget_bytes"] > 0
    assert status["counters"]["bytes_received"] == 1000 and status["counters"]["bytes_sent"] == 0
    assert status["counters"]["requests"]["GetObject"] == 1
    assert {"retries", "cache_hit_bytes", "cache_miss_bytes"} <= set(status["counters"])
    assert status["transfers"] == [] and status["unsaved"] == [] and status["errors"] == []
    assert alive(status["pid"])
    text = run([DIPPER, "status"]).stdout
    assert mount.path in text and bucket.url in text
    one = json.loads(run([DIPPER, "status", mount.path, "--json"]).stdout)
    assert one["version"] == 1 and [m["mountpoint"] for m in one["mounts"]] == [mount.path]


def test_status_shows_what_is_on_its_way(weather_mount, proxy, strict_bucket):
    strict_bucket.put("f", os.urandom(40 * MIB))
    mount = weather_mount().start()
    proxy.rules = [{"method": "GET", "path": "/f$", "rate": MIB}]
    reader = subprocess.Popen(["cat", mount / "f"], stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: any(t["key"] == "f" and t["kind"] == "download" and 0 < t["bytes_done"] < t["bytes_total"]
                             for t in mount.status()["transfers"]), "a transfer in status")
    finally:
        reader.kill()
        reader.wait()


def test_ls(bucket):
    bucket.put("a", b"1")
    bucket.put("d/b", b"22")
    bucket.put("d/e/c", b"333")
    options = ["--endpoint", bucket.endpoint]
    assert run([DIPPER, "ls", bucket.url] + options).stdout.split("\n") == ["a", "d/", ""]
    assert run([DIPPER, "ls", "-r", bucket.url] + options).stdout.split() == ["a", "d/b", "d/e/c"]
    long = run([DIPPER, "ls", "-l", bucket.url + "/d/"] + options).stdout
    assert re.search(r"\b2\b.*b\n", long)
    listed = [json.loads(line) for line in run([DIPPER, "ls", "-r", "--json", bucket.url] + options).stdout.splitlines()]
    rows = listed[0] if listed and isinstance(listed[0], list) else listed
    assert {row["key"] for row in rows} == {"a", "d/b", "d/e/c"}
    missing = run([DIPPER, "ls", "s3://no-such-bucket-x"] + options)
    assert missing.returncode == 1 and "no-such-bucket-x" in one_sentence(missing.stderr)


def test_output_that_is_lost_is_a_failure(bucket):
    bucket.put("f", b"x" * 100000)
    for command in (["ls", bucket.url], ["get", bucket.url + "/f", "-"], ["--help"], ["status"], ["--version"]):
        options = ["--endpoint", bucket.endpoint] if command[0] in ("ls", "get") else []
        with open("/dev/full", "w") as full:
            result = subprocess.run([DIPPER] + command + options, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        assert result.returncode == 1 and "No space left" in one_sentence(result.stderr), (command, result)


def test_a_reader_that_has_seen_enough_ends_a_stream_as_it_ends_cat(bucket):
    bucket.put("f", b"x" * 5 * MIB)
    command = [DIPPER, "get", bucket.url + "/f", "-", "--endpoint", bucket.endpoint]
    for is_ignored in (False, True):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   restore_signals=not is_ignored)
        assert process.stdout.read(1) == "x"
        process.stdout.close()
        message = process.stderr.read()
        code = process.wait(60)
        if is_ignored:
            assert code == 1 and "broken pipe" in one_sentence(message)
        else:
            assert code == -signal.SIGPIPE and message == ""


def test_the_local_store_is_mounted(mounts, tmp_path):
    source = tmp_path / "bucket"
    (source / "sub").mkdir(parents=True)
    data = random.Random(1).randbytes(9 * MIB + 1)
    (source / "big").write_bytes(data)
    (source / "sub" / "small").write_text("hello")
    mount = mounts("file://%s" % source).start()
    assert mount.read("big") == data and mount.read("sub/small") == b"hello"
    assert run(["diff", "-r", str(source), mount.path]).returncode == 0
    (source / "sub" / "small").write_text("changed by somebody else")
    time.sleep(1.5)
    assert mount.read("sub/small") == b"changed by somebody else"
    assert mount.stop().returncode == 0


def test_demo_needs_nothing(tmp_path):
    environment = {name: None for name in os.environ if name.startswith(("AWS_", "DIPPER_"))}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    place = tmp_path / "demo"
    result = run([DIPPER, "demo", str(place)], environment=environment, timeout=120)
    try:
        assert result.returncode == 0, result.stderr
        assert is_mounted(str(place)) and str(place) in result.stdout
        names = os.listdir(place)
        assert len(names) >= 3
        total = sum(os.path.getsize(os.path.join(root, name)) for root, _, files in os.walk(place) for name in files)
        assert total > 16 * MIB
        assert run(["sh", "-c", "find %s -type f -exec cat {} + > /dev/null" % place]).returncode == 0
        again = run([DIPPER, "demo", str(place)], environment=environment)
        assert again.returncode == 0 and again.stdout == result.stdout, again
        assert run([DIPPER, "unmount", str(place)], environment=environment).returncode == 0
        # It says what stays, and nothing else does.
        assert "in %s/cache/dipper-demo" % tmp_path in result.stdout
        assert os.listdir(tmp_path / "cache") == ["dipper-demo"]
    finally:
        subprocess.run(["umount", "-l", place], capture_output=True)


def test_demo_mounts_beside_its_sample(tmp_path):
    environment = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "TMPDIR": str(tmp_path)}
    before = set(os.listdir("/tmp"))
    place = tmp_path / "cache" / "dipper-demo" / "mnt"
    result = run([DIPPER, "demo"], environment=environment, timeout=120)
    try:
        assert result.returncode == 0, result.stderr
        assert is_mounted(str(place)) and str(place) in result.stdout
        assert run([DIPPER, "unmount", str(place)], environment=environment).returncode == 0
        assert os.listdir(tmp_path) == ["cache"]
        assert not any(name.startswith("dipper-demo-") for name in set(os.listdir("/tmp")) - before)
    finally:
        subprocess.run(["umount", "-l", place], capture_output=True)


def test_mount_options_as_fstab_gives_them(strict_bucket, mounts, tmp_path):
    strict_bucket.put("f", b"x")
    helper = tmp_path / "mount.dipper"
    helper.symlink_to(DIPPER)
    place = tmp_path / "mnt"
    place.mkdir()
    options = "ro,_netdev,nofail,endpoint=%s,file_mode=0640,uid=1234,cache_dir=%s,x-systemd.automount" % (
        strict_bucket.endpoint, tmp_path / "cache")
    result = run([str(helper), strict_bucket.url, str(place), "-o", options])
    try:
        assert result.returncode == 0, result.stderr
        status = os.stat(place / "f")
        assert status.st_mode & 0o777 == 0o640 and status.st_uid == 1234
        mount_line = [line for line in open("/proc/self/mounts") if line.split()[1] == str(place)][0].split()
        assert mount_line[0] == strict_bucket.url and mount_line[2] == "fuse.dipper"
        assert run(["umount", str(place)]).returncode == 0
    finally:
        subprocess.run(["umount", "-l", place], capture_output=True)


def test_a_profile_is_found_at_boot_where_there_is_no_home(strict_bucket, tmp_path):
    """The message names the file; the home is that of the system's list of users, which a test leaves alone."""
    place = tmp_path / "mnt"
    place.mkdir()
    command = [DIPPER, "mount", strict_bucket.url, str(place), "--endpoint", strict_bucket.endpoint,
               "--cache-dir", str(tmp_path / "cache"), "--profile", "no-such-profile-of-dippers"]
    without = {"HOME": None, "AWS_CONFIG_FILE": None, "AWS_SHARED_CREDENTIALS_FILE": None}
    result = run(command, environment=without)
    assert result.returncode == 1 and "/.aws/config" in one_sentence(result.stderr)


def test_a_daemon_is_called_by_the_programs_name(local):
    mount = local().start()
    with open("/proc/%d/comm" % mount.pid) as file:
        assert file.read() == "dipper\n"
    names = {open("/proc/%d/task/%s/comm" % (mount.pid, task)).read().strip()
             for task in os.listdir("/proc/%d/task" % mount.pid)}
    assert "exe" not in names, names


def test_foreground_ends_with_its_unmount(strict_bucket, mounts):
    mount = mounts(strict_bucket.url, strict_bucket.endpoint)
    os.makedirs(mount.path)
    process = subprocess.Popen(mount.command() + ["--foreground"], stderr=subprocess.PIPE)
    try:
        wait_for(lambda: is_mounted(mount.path), "the mount")
        assert run(["umount", mount.path]).returncode == 0
        assert process.wait(timeout=15) == 0
    finally:
        process.kill()


def test_the_window_of_reading_ahead_is_raised(strict_bucket, mounts):
    mount = mounts(strict_bucket.url, strict_bucket.endpoint).start()
    device = os.stat(mount.path).st_dev
    path = "/sys/class/bdi/%d:%d/read_ahead_kb" % (os.major(device), os.minor(device))
    wait_for(lambda: int(open(path).read()) >= 1024, "the window to be raised")


def test_idle_costs_nothing(strict_bucket, mounts):
    strict_bucket.put("f", b"x" * MIB)
    mount = mounts(strict_bucket.url, strict_bucket.endpoint).start()
    mount.read("f")
    pid = mount.pid
    time.sleep(2)

    def ticks():
        fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
        return int(fields[11]) + int(fields[12])

    before = ticks()
    time.sleep(5)
    assert ticks() - before <= 1


def test_the_cache_keeps_to_its_size(strict_bucket, mounts):
    for i in range(6):
        strict_bucket.put("f%d" % i, os.urandom(10 * MIB))
    mount = mounts(strict_bucket.url, strict_bucket.endpoint, options=["--cache-size", "32M"]).start()
    for i in range(6):
        assert len(mount.read("f%d" % i)) == 10 * MIB

    def used():
        return sum(os.stat(os.path.join(root, name)).st_blocks * 512
                   for root, _, files in os.walk(mount.cache) for name in files)

    wait_for(lambda: used() <= 34 * MIB, "eviction")


def test_a_full_cache_disk_still_reads(strict_bucket, mounts, tmp_path):
    data = os.urandom(40 * MIB)
    strict_bucket.put("f", data)
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m,mode=700", "tmpfs", small], check=True)
    try:
        mount = mounts(strict_bucket.url, strict_bucket.endpoint, cache=small / "cache").start()
        assert mount.read("f") == data
        assert mount.stop().returncode == 0
    finally:
        subprocess.run(["umount", "-l", small], capture_output=True)


@pytest.fixture
def local(mounts, tmp_path):
    """Makes mounts of a local directory with a few files."""
    source = tmp_path / "bucket"
    source.mkdir()
    for i in range(100):
        (source / ("f%d" % i)).write_text("file %d" % i)

    def make(**facts):
        return mounts("file://%s" % source, **facts)

    return make


def test_frozen_daemons_are_asked_at_once_and_their_zeros_are_no_facts(local):
    made = [local().start() for _ in range(4)]
    alive_one = local().start()
    pids = [mount.pid for mount in made]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        start = time.monotonic()
        report = json.loads(run([DIPPER, "status", "--json"]).stdout)
        # One after the other they would take eight seconds.
        assert time.monotonic() - start < 6
        by_path = {status["mountpoint"]: status for status in report["mounts"]}
        for mount, pid in zip(made, pids):
            status = by_path[mount.path]
            assert status["state"] == "not answering" and status["answers"] is False and status["pid"] == pid
            for field in ("since", "read_only", "cache", "memory", "transfers", "counters", "unsaved", "errors"):
                assert status[field] is None, field
        assert by_path[alive_one.path]["state"] == "serving"
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    wait_for(lambda: all(mount.status()["answers"] for mount in made), "the daemons to answer again")


def test_status_and_unmount_get_through_without_a_descriptor_left(local):
    mount = local()
    os.makedirs(mount.path)
    assert run(["prlimit", "--nofile=128:128"] + mount.command()).returncode == 0
    pid = mount.pid
    held = []
    for i in range(100):
        try:
            held.append(open(mount / ("f%d" % i), "rb"))
            held[-1].read()
        except OSError:
            pass
    assert len(os.listdir("/proc/%d/fd" % pid)) >= 120
    start = time.monotonic()
    assert mount.status()["pid"] == pid
    result = mount.stop()
    assert result.returncode == 1 and "in use" in one_sentence(result.stderr)
    assert time.monotonic() - start < 15
    for file in held:
        file.close()
    assert mount.stop().returncode == 0 and not is_mounted(mount.path)


def test_a_busy_mount_says_who_uses_it(local):
    mount = local().start()
    sleeper = subprocess.Popen(["sleep", "1000"], cwd=mount.path)
    opener = subprocess.Popen(["tail", "-f", mount / "f7"], stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: any(os.path.realpath("/proc/%d/fd/%s" % (opener.pid, n)) == mount / "f7"
                             for n in os.listdir("/proc/%d/fd" % opener.pid)), "tail to open its file")
        result = mount.stop()
        sentence = one_sentence(result.stderr)
        assert result.returncode == 1 and "process %d (sleep) has its working directory" % sleeper.pid in sentence
        assert "process %d (tail) has 'f7' open" % opener.pid in sentence and "--lazy" in sentence
        assert mount.read("f1") == b"file 1"
        pid = mount.pid
        assert run([DIPPER, "unmount", "--lazy", mount.path]).returncode == 0
        assert not is_mounted(mount.path) and alive(pid)
        assert mount.status()["state"] == "detached"
    finally:
        for process in (sleeper, opener):
            process.kill()
            process.wait()
    wait_for(lambda: not alive(pid), "the daemon to end with the last who used it")


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a mount namespace")
def test_a_copy_in_another_namespace_is_named_and_not_waited_for(local):
    """As of a container or a service that was started while it was mounted."""
    mount = local().start()
    pid = mount.pid
    keeper = subprocess.Popen(["unshare", "-m", "--propagation", "private", "sleep", "1000"])
    try:
        wait_for(lambda: open("/proc/%d/comm" % keeper.pid).read() == "sleep\n", "a namespace")
        begin = time.monotonic()
        result = mount.stop()
        assert result.returncode == 1 and time.monotonic() - begin < 30
        assert "process %d (sleep)" % keeper.pid in result.stderr and "mount namespace" in result.stderr
        assert not is_mounted(mount.path) and alive(pid)
        # What is left of the mount is not worth a wait.
        os.kill(pid, signal.SIGTERM)
        wait_for(lambda: not alive(pid), "the daemon to end")
    finally:
        keeper.kill()
        keeper.wait()


def test_what_was_just_let_go_does_not_keep_a_mount(local):
    """A descriptor on its way through a socket is seen in no process."""
    mount = local().start()
    here, there = socket.socketpair()
    with open(mount / "f1", "rb") as file:
        socket.send_fds(here, [b"x"], [file.fileno()])
    result = run(["umount", mount.path])
    assert result.returncode != 0 and "busy" in result.stderr
    unmount = subprocess.Popen([DIPPER, "unmount", mount.path])
    release = threading.Timer(0.5, lambda: (here.close(), there.close()))
    release.start()
    try:
        assert unmount.wait(60) == 0 and not is_mounted(mount.path)
    finally:
        release.join()


def test_a_mount_with_another_below_it_says_so(local, tmp_path):
    mount = local().start()
    (tmp_path / "bucket" / "d").mkdir()
    (tmp_path / "bucket" / "d" / "f").write_text("x")
    wait_for(lambda: os.path.isdir(mount / "d"), "the directory")
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", mount / "d"], check=True)
    try:
        result = mount.stop()
        assert result.returncode == 1 and "is mounted below it" in one_sentence(result.stderr)
    finally:
        subprocess.run(["umount", mount / "d"], check=True)
    assert mount.stop().returncode == 0


def test_unmounting_from_inside_works(local):
    mount = local().start()
    # The shell is elsewhere; only the program itself was started there.
    assert run([DIPPER, "unmount", mount.path], cwd=mount.path).returncode == 0


def test_a_frozen_or_dead_daemon_is_unmounted_within_a_bounded_time(local):
    frozen, dead = local().start(), local().start()
    pid = frozen.pid
    dead.kill()
    os.kill(pid, signal.SIGSTOP)
    try:
        for mount, bound in ((frozen, 30), (dead, 15)):
            start = time.monotonic()
            result = mount.stop()
            assert result.returncode == 0 and one_sentence(result.stderr), result
            assert time.monotonic() - start < bound and not is_mounted(mount.path)
    finally:
        os.kill(pid, signal.SIGCONT)
    wait_for(lambda: not alive(pid), "the daemon to notice that its mount is gone")


@pytest.mark.parametrize("name", ["USR1", "USR2", "ALRM", "PIPE", "HUP"])
def test_signals_that_a_mount_outlives(local, name):
    mount = local().start()
    pid = mount.pid
    for _ in range(3):
        os.kill(pid, getattr(signal, "SIG" + name))
    # Signals are taken one after the other: when this one has had its effect, so have those.
    os.rename(mount.path + ".log", mount.path + ".log.1")
    os.kill(pid, signal.SIGHUP)
    wait_for(lambda: os.path.exists(mount.path + ".log"), "the log to be opened anew")
    assert mount.read("f1") == b"file 1" and mount.pid == pid
    assert mount.stop().returncode == 0
    assert "unmounted" in mount.log()


@pytest.mark.parametrize("name", ["QUIT", "TERM", "INT", "PWR", "XCPU"])
def test_signals_that_end_a_mount(local, name):
    mount = local().start()
    pid = mount.pid
    os.kill(pid, getattr(signal, "SIG" + name))
    wait_for(lambda: not alive(pid), "the daemon to end")
    assert not is_mounted(mount.path) and "unmounted" in mount.log()


def test_flags_of_the_kernel_are_applied(local):
    mount = local(options=["-o", "rw,noexec,noatime"])
    os.makedirs(mount.path)
    result = run(mount.command())
    assert result.returncode == 0 and result.stderr == "", result
    flags = [line for line in open("/proc/self/mounts") if line.split()[1] == mount.path][0].split()[3].split(",")
    assert {"rw", "noexec", "noatime", "nosuid", "nodev"} <= set(flags), flags
    assert mount.stop().returncode == 0


def test_progress_elsewhere_than_on_a_terminal_is_one_line(bucket, tmp_path):
    bucket.put("f", b"x" * 5 * MIB)
    command = [DIPPER, "get", bucket.url + "/f", str(tmp_path / "f"), "--endpoint", bucket.endpoint]
    assert run(command).stderr == ""
    loud = run(command + ["--progress"])
    assert loud.returncode == 0 and "100 %" in one_sentence(loud.stderr)
    assert "\r" not in loud.stderr and "\x1b" not in loud.stderr


def test_a_daemon_logs_to_the_system(tmp_path):
    """In a mount namespace of its own, whose /dev has the devices it takes and a log that listens."""
    (tmp_path / "bucket").mkdir()
    device = tmp_path / "dev"
    device.mkdir()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind(str(device / "log"))
    listener.settimeout(20)
    script = """
        set -eu
        mount --make-rprivate /
        cd %(home)s
        mknod -m 666 dev/null c 1 3; mknod -m 666 dev/urandom c 1 9; mknod -m 666 dev/fuse c 10 229
        mkdir mnt
        mount --bind dev /dev
        %(dipper)s mount file://%(home)s/bucket mnt --cache-dir %(home)s/cache --log-level info
        %(dipper)s unmount mnt
        rm dev/log
        %(dipper)s mount file://%(home)s/bucket mnt --cache-dir %(home)s/cache --log-level info
        %(dipper)s status --json %(home)s/mnt
        %(dipper)s unmount mnt
    """ % {"home": tmp_path, "dipper": DIPPER}
    result = run(["unshare", "-m", "sh", "-c", script])
    assert result.returncode == 0, result
    lines = [listener.recv(4096).decode() for _ in range(2)]
    listener.close()
    for line, word in zip(lines, ("mounted", "unmounted")):
        assert re.match(r"<30>\w{3} [ \d]\d \d\d:\d\d:\d\d dipper\[\d+\]: %s " % word, line), lines
    # The second time there is no log; whoever wants to know where the file is asks.
    assert result.stderr == ""
    place = json.loads(result.stdout)["mounts"][0]["log"]
    with open(place) as file:
        assert "unmounted" in file.read()
    os.remove(place)


def test_what_was_installed_is_uninstalled(tmp_path):
    bin, sbin = tmp_path / "usr" / "local" / "bin", tmp_path / "sbin"
    bin.mkdir(parents=True)
    sbin.mkdir()
    (bin / "dipper").write_text("the program")
    (bin / "other").write_text("somebody's")
    (sbin / "mount.dipper").symlink_to("/usr/local/bin/dipper")
    (sbin / "mount.fuse.dipper").symlink_to("/opt/other")
    script = os.path.join(ROOT, "scripts", "install")
    for _ in range(2):
        assert run([script, "--uninstall"], environment={"DESTDIR": str(tmp_path)}).returncode == 0
        assert os.listdir(bin) == ["other"] and os.listdir(sbin) == ["mount.fuse.dipper"]
    assert run([script, "--nonsense"]).returncode == 2
