"""Where the system rations addresses, threads or descriptors, a command works or says in one sentence what is short."""

import os
import pwd
import re
import shutil
import time

import pytest

from conftest import DIPPER, is_mounted, one_sentence, run

MEGABYTE = 1_000_000
# Users who have no threads; fusermount3 wants one that the system knows.
IDLE_USERS = ("games", "news", "uucp", "nobody")
SHORTAGE = re.compile(r"(addresses|threads?|processes|files).*ulimit -[udvn]")
SECONDS_MAX = 15


def prlimit(resource, limit):
    return ["prlimit", "--%s=%d:%d" % (resource, limit, limit)]


@pytest.fixture(scope="module")
def least_megabytes():
    """Below this the system's loader can't even load the program, and says so."""
    for megabytes in range(20, 500, 5):
        if run(prlimit("as", megabytes * MEGABYTE) + [DIPPER, "--version"]).returncode == 0:
            return megabytes
    raise AssertionError("the program can't be loaded in 500 MB")


def ladder(least):
    return sorted({least, least + 2, least + 5, *range(least + 10, 500, 25), *range(500, 1001, 100)})


def ended(command, where, **options):
    """Runs it; returns whether it worked. If not, it has said what was short."""
    start = time.monotonic()
    result = run(command, timeout=SECONDS_MAX, **options)
    if result.returncode == 0:
        return True
    assert result.returncode == 1, (where, result, time.monotonic() - start)
    assert SHORTAGE.search(one_sentence(result.stderr)), (where, result.stderr)
    return False


def test_a_mount_works_or_says_that_addresses_are_short(strict_bucket, mounts, least_megabytes):
    data = os.urandom(20 << 20)
    strict_bucket.put("f", data)
    worked = []
    for megabytes in ladder(least_megabytes):
        mount = mounts(strict_bucket.url, strict_bucket.endpoint, options=["--memory", "64M"])
        os.makedirs(mount.path)
        if ended(prlimit("as", megabytes * MEGABYTE) + mount.command(), megabytes):
            assert mount.read("f") == data, megabytes
            assert mount.stop().returncode == 0
            worked.append(megabytes)
        else:
            assert not is_mounted(mount.path) and not os.path.exists(mount.cache), megabytes
        os.rmdir(mount.path)
    assert worked and worked[-1] == 1000 and least_megabytes not in worked
    assert worked == [megabytes for megabytes in ladder(least_megabytes) if megabytes >= worked[0]]


def test_a_mount_needs_the_memory_that_it_may_use(strict_bucket, mounts):
    mount = mounts(strict_bucket.url, strict_bucket.endpoint, options=["--memory", "2G"])
    os.makedirs(mount.path)
    result = run(prlimit("as", 1000 * MEGABYTE) + mount.command())
    assert result.returncode == 1 and "--memory" in one_sentence(result.stderr), result
    assert not is_mounted(mount.path) and not os.path.exists(mount.cache)


def test_data_is_rationed_as_addresses_are(strict_bucket, mounts):
    mount = mounts(strict_bucket.url, strict_bucket.endpoint)
    os.makedirs(mount.path)
    result = run(prlimit("data", 100 * MEGABYTE) + mount.command())
    assert result.returncode == 1 and "ulimit -d" in one_sentence(result.stderr), result


@pytest.mark.parametrize("name", ["get", "ls", "doctor", "status", "warm", "map", "evict"])
def test_a_command_works_or_says_that_addresses_are_short(strict_bucket, mounts, tmp_path, least_megabytes, name):
    data = os.urandom(12 << 20)
    strict_bucket.put("d/f", data)
    strict_bucket.put("d/g", b"x")
    mount = mounts(strict_bucket.url, strict_bucket.endpoint).start()
    target = tmp_path / "target"
    target.mkdir()
    store = ["--endpoint", strict_bucket.endpoint]
    commands = {
        "get": ["get", strict_bucket.url + "/d/f", str(target / "f"), "--part-size", "5M"] + store,
        "ls": ["ls", "-r", strict_bucket.url] + store,
        "doctor": ["doctor", strict_bucket.url, "--cache-dir", mount.cache] + store,
        "status": ["status", "--json"],
        "warm": ["warm", mount.path],
        "map": ["map", mount / "d/f"],
        "evict": ["evict", mount.path],
    }
    worked = []
    for megabytes in ladder(least_megabytes):
        if ended(prlimit("as", megabytes * MEGABYTE) + [DIPPER] + commands[name], megabytes):
            worked.append(megabytes)
            if name == "get":
                assert (target / "f").read_bytes() == data
                os.remove(target / "f")
        assert os.listdir(target) == []
    assert worked == [megabytes for megabytes in ladder(least_megabytes) if megabytes >= worked[0]]
    assert mount.stop().returncode == 0


@pytest.mark.parametrize("name", ["get", "put", "cp", "ls", "ls of a directory"])
def test_a_command_works_or_says_that_descriptors_are_short(strict_bucket, tmp_path, name):
    data = os.urandom(12 << 20)
    strict_bucket.put("f", data)
    source = tmp_path / "source"
    source.write_bytes(data)
    target = tmp_path / "target"
    target.mkdir()
    store = ["--endpoint", strict_bucket.endpoint]
    parts = ["--part-size", "5M", *store]
    commands = {
        "get": ["get", strict_bucket.url + "/f", str(target / "f"), *parts],
        "put": ["put", str(source), strict_bucket.url + "/g", *parts],
        "cp": ["cp", strict_bucket.url + "/f", strict_bucket.url + "/g", *parts],
        "ls": ["ls", strict_bucket.url, *store],
        "ls of a directory": ["ls", "file://%s//" % tmp_path],
    }
    # Fewer are too few to load the program.
    limits = [limit for limit in [*range(3, 24), 32, 64]
              if run(prlimit("nofile", limit) + [DIPPER, "--version"]).returncode == 0]
    worked = []
    for limit in limits:
        if ended(prlimit("nofile", limit) + [DIPPER] + commands[name], limit,
                 environment={"XDG_STATE_HOME": str(tmp_path / "state")}):
            worked.append(limit)
            if name == "get":
                assert (target / "f").read_bytes() == data
                os.remove(target / "f")
            if name in ("put", "cp"):
                assert strict_bucket.get("g") == data
        assert os.listdir(target) == [], limit
    assert worked == [limit for limit in limits if limit >= worked[0]] and worked[0] > limits[0]


def idle_user():
    running = {os.stat("/proc/" + name).st_uid for name in os.listdir("/proc") if name.isdigit()}
    for name in IDLE_USERS:
        try:
            user = pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
        if user not in running:
            return user
    raise AssertionError("there is no user without a process")


@pytest.fixture
def user():
    return idle_user()


@pytest.fixture
def home(tmp_path, user):
    """The directory of a user who has no thread yet, with the program in it."""
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(DIPPER, home / "dipper")
    for path in [tmp_path, *list(tmp_path.parents)[:3]]:
        if path != path.parent:
            os.chmod(path, 0o755)
    shutil.chown(home, user, user)
    return home


def as_user(user):
    return ["setpriv", "--reuid=%d" % user, "--regid=%d" % user, "--clear-groups"]


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("name", ["ls", "doctor", "status"])
def test_a_command_works_or_says_that_threads_are_short(strict_bucket, home, user, name):
    strict_bucket.put("f", b"x")
    operands = [] if name == "status" else [strict_bucket.url, "--endpoint", strict_bucket.endpoint]
    worked = []
    for limit in [*range(1, 30, 3), 64, 128]:
        command = as_user(user) + prlimit("nproc", limit) + ["./dipper", name] + operands
        if ended(command, limit, environment={"HOME": str(home)}, cwd=home):
            worked.append(limit)
    assert worked[-1] == 128 and (1 in worked) == (name == "status")


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_a_download_works_or_says_that_threads_are_short(strict_bucket, home, user):
    data = os.urandom(12 << 20)
    strict_bucket.put("f", data)
    command = ["./dipper", "get", strict_bucket.url + "/f", "f", "--endpoint", strict_bucket.endpoint,
               "--part-size", "5M"]
    worked = []
    for limit in [*range(1, 40), 64, 128]:
        limited = as_user(user) + prlimit("nproc", limit) + command
        if ended(limited, limit, environment={"HOME": str(home)}, cwd=home):
            worked.append(limit)
            assert (home / "f").read_bytes() == data
            os.remove(home / "f")
        assert os.listdir(home) == ["dipper"], limit
    assert worked[-1] == 128 and 1 not in worked


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, in a mount namespace of its own")
def test_a_mount_works_or_says_that_threads_are_short(strict_bucket, home, user):
    strict_bucket.put("f", b"text")
    script = """
        mount --make-rprivate /
        mknod -m 666 %(home)s/fuse c 10 229
        mount --bind %(home)s/fuse /dev/fuse
        for limit in $(seq 1 40) 64 128; do
            %(enter)s mkdir mnt
            %(enter)s timeout %(seconds)d prlimit --nproc=$limit:$limit ./dipper mount %(url)s mnt \\
                --endpoint %(endpoint)s --cache-dir cache 2> message
            code=$?
            echo "$limit|$code|$(%(enter)s cat mnt/f 2> /dev/null)|$(ls -d cache 2> /dev/null)|$(paste -s -d@ message)"
            if [ $code = 0 ]; then %(enter)s ./dipper unmount mnt; fi
            grep -q %(home)s/mnt /proc/self/mounts && echo "$limit|still mounted"
            rm -rf cache; rmdir mnt
        done
    """ % {"home": home, "url": strict_bucket.url, "endpoint": strict_bucket.endpoint, "seconds": SECONDS_MAX,
           "enter": " ".join(as_user(user))}
    result = run(["unshare", "-m", "sh", "-c", script], timeout=600, cwd=home,
                 environment={"HOME": str(home), "XDG_RUNTIME_DIR": None})
    worked = []
    for line in result.stdout.splitlines():
        limit, code, content, cache, message = line.split("|", 4)
        if code == "0":
            assert content == "text", line
            worked.append(int(limit))
        else:
            assert code == "1" and content == "" and cache == "", line
            assert SHORTAGE.search(one_sentence(message.replace("@", "\n"))), line
    assert worked and worked[-1] == 128 and 1 not in worked, result


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, in a mount namespace of its own")
def test_what_asks_a_mount_works_or_says_that_threads_are_short(strict_bucket, home, user):
    strict_bucket.put("f", b"text")
    script = """
        set -u
        mount --make-rprivate /
        mknod -m 666 %(home)s/fuse c 10 229
        mount --bind %(home)s/fuse /dev/fuse
        %(enter)s mkdir mnt
        mount -t tmpfs tmpfs /run
        mkdir /run/user
        install -d -o %(user)d -m 700 /run/user/%(user)d
        %(enter)s ./dipper mount %(url)s mnt --endpoint %(endpoint)s --cache-dir cache || exit
        # Beside the threads of the daemon, so many more.
        for more in $(seq 0 7) 32; do
            for command in "status --json" "warm mnt" "map mnt/f" "evict mnt" "unmount mnt"; do
                # The daemon keeps its memory to itself, so its directory in /proc is root's.
                threads=$(grep -l "^Uid:.%(user)d" /proc/[0-9]*/task/[0-9]*/status 2> /dev/null | wc -l)
                limit=$((threads + more))
                %(enter)s timeout %(seconds)d prlimit --nproc=$limit:$limit ./dipper $command > /dev/null 2> message
                echo "$more $command|$?|$(paste -s -d@ message)"
            done
            grep -q %(home)s/mnt /proc/self/mounts ||
                %(enter)s ./dipper mount %(url)s mnt --endpoint %(endpoint)s --cache-dir cache || exit
        done
        %(enter)s ./dipper unmount mnt
        echo "end|$?|"
    """ % {"home": home, "url": strict_bucket.url, "endpoint": strict_bucket.endpoint, "seconds": SECONDS_MAX,
           "enter": " ".join(as_user(user)), "user": user}
    result = run(["unshare", "-m", "sh", "-c", script], timeout=600, cwd=home,
                 environment={"HOME": str(home), "XDG_RUNTIME_DIR": None})
    lines = result.stdout.splitlines()
    assert len(lines) == 9 * 5 + 1 and lines[-1] == "end|0|", result
    for line in lines:
        what, code, message = line.split("|", 2)
        if code != "0":
            assert code == "1" and SHORTAGE.search(one_sentence(message.replace("@", "\n"))), line
    assert all(line.split("|")[1] == "0" for line in lines if line.startswith("32 ")), lines
