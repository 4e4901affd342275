"""What programs set beside bytes, and what it costs. Test names carry the clause of docs/semantics.md."""

import errno
import os
import shutil
import subprocess
import time

import pytest

from conftest import SERVERS, Bucket
from programs import wait_for

FILES, DIRECTORIES = 20, 4
READS = {"ListObjects", "HeadObject", "GetObject", "GetObjectTagging"}


@pytest.fixture(params=sorted(SERVERS))
def bucket(request):
    bucket = Bucket(request.param, SERVERS[request.param])
    yield bucket
    bucket.clear()


@pytest.fixture
def mount(bucket, mounts):
    return mounts(bucket.url, bucket.endpoint, options=["--metadata-ttl", "60"]).start()


@pytest.fixture(params=["file", "tos-fns", "tos-hns"])
def elsewhere(request, make_tos_bucket, mounts, tmp_path):
    """Makes mounts of a local directory, and of both kinds of TOS's buckets."""
    if request.param == "file":
        (tmp_path / "bucket").mkdir()
        url, endpoint = "file://%s" % (tmp_path / "bucket"), None
    else:
        made = make_tos_bucket("moto", type=request.param[4:])
        url, endpoint = made.url, made.endpoint

    def make(*options):
        return mounts(url, endpoint, options=options).start()

    make.store = request.param
    return make


@pytest.fixture
def tree(tmp_path):
    """A tree with modes and times of its own."""
    source = tmp_path / "source"
    for i in range(FILES):
        path = source / ("d%d" % (i % DIRECTORIES)) / ("f%d" % i)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * (i * 100))
        os.chmod(path, 0o640)
        os.utime(path, (1e9 + i, 1e9 + i))
    for i in range(DIRECTORIES):
        os.chmod(source / ("d%d" % i), 0o750)
        os.utime(source / ("d%d" % i), (1e9, 1e9))
    return source


def shell(script, *arguments, timeout=180):
    result = subprocess.run(["bash", "-ec", script, "sh", *map(str, arguments)], capture_output=True, text=True,
                            timeout=timeout)
    assert result.returncode == 0, "%s\n%s\n%s" % (script, result.stdout, result.stderr)
    return result.stdout


def settled(mount):
    """The requests so far, when nothing waits to be stored any more."""
    wait_for(lambda: not mount.status()["transfers"], "all to be stored")
    return mount.status()["counters"]["requests"]


def cost(mount, action):
    """What an action and its consequences have changed at the store, in requests."""
    before = settled(mount)
    action()
    after = settled(mount)
    counts = {name: after[name] - before.get(name, 0) for name in after}
    return {name: count for name, count in counts.items() if count and name not in READS}


def keeps_directories(store):
    """Whether a store keeps user metadata of directories' markers; those that have directories of their own don't."""
    return store not in ("seaweedfs", "tos-hns")


def facts(root, directories=True):
    """Modes and times of everything below a directory."""
    found = {}
    for path, _, names in os.walk(root):
        for name in [""] + names:
            status = os.stat(os.path.join(path, name))
            relative = os.path.relpath(os.path.join(path, name), root)
            if relative != "." and (directories or name):
                found[relative] = (status.st_mode, int(status.st_mtime))
    return found



TOOLS = {
    "cp -p": ('cd "$1" && cp -p d0/f* "$2"/out/', 5, {"PutObject": 5}),
    "cp -a": ('cp -a "$1"/. "$2"/out/', FILES, {"PutObject": FILES + 2 * DIRECTORIES}),
    "tar x": ('tar cf - -C "$1" . | tar xf - -C "$2"/out', FILES, {"PutObject": FILES + 2 * DIRECTORIES}),
    "rsync -a": ('rsync -a "$1"/ "$2"/out/', FILES,
                 {"PutObject": FILES + 2 * DIRECTORIES, "CopyObject": FILES, "DeleteObject": FILES}),
    "unzip": ('cd "$1" && zip -qr "$3"/z.zip . && unzip -q "$3"/z.zip -d "$2"/out', FILES,
              {"PutObject": FILES + 2 * DIRECTORIES, "CopyObject": FILES}),
}


@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_N4_a_file_with_its_attributes_costs_few_requests(mount, tree, tmp_path, tool):
    script, _, most = TOOLS[tool]
    os.mkdir(mount / "out")
    counts = cost(mount, lambda: shell(script, tree, mount.path, tmp_path))
    counts["DeleteObject"] = counts.pop("DeleteObject", 0) + counts.pop("DeleteObjects", 0)
    print("REQUESTS %s: %s" % (tool, {name: count for name, count in counts.items() if count}))
    # The root of the tree is a directory, too, and the first directory is stored at once to see whether it is kept.
    root = 0 if tool == "cp -p" else 2
    for name, count in counts.items():
        assert count <= most.get(name, 0) + (root if name == "PutObject" else 0), counts
    if tool != "cp -p":
        assert facts(mount / "out") == facts(tree)


def test_N4_what_tools_set_is_seen_by_the_next_mount_and_by_whoever_asks(mount, bucket, mounts, tree):
    shell('cp -a "$1" "$2"/copy', tree, mount.path)
    assert mount.stop().returncode == 0
    kept = keeps_directories(bucket.server)
    again = mounts(bucket.url, bucket.endpoint, cache=mount.cache).start()
    assert facts(again / "copy", kept) == facts(tree, kept)
    other = mounts(bucket.url, bucket.endpoint, options=["--metadata-from", "head"]).start()
    assert facts(other / "copy", kept) == facts(tree, kept)
    shell('test -z "$(rsync -ain "$1"/ "$2"/copy/ | grep -v "$3")"', tree, other.path, "^$" if kept else "^.d")


def test_N4_attributes_of_trees_are_kept_elsewhere_too(elsewhere, tree):
    mount = elsewhere()
    shell('cp -a "$1" "$2"/a && mkdir "$2"/b && tar cf - -C "$1" . | tar xf - -C "$2"/b && rsync -a "$1"/ "$2"/c/',
          tree, mount.path)
    for name in "abc":
        assert facts(mount / name) == facts(tree), name
    assert mount.stop().returncode == 0
    other = elsewhere("--metadata-from", "head")
    kept = keeps_directories(elsewhere.store)
    for name in "abc":
        assert facts(other / name, kept) == facts(tree, kept), name


def test_N4_directories_are_removed_and_renamed_with_what_was_set(mount, bucket):
    for name in "abc":
        os.mkdir(mount / name)
        os.chmod(mount / name, 0o700)
    if not keeps_directories(bucket.server):
        with pytest.raises(OSError) as failure:
            os.setxattr(mount / "a", "user.color", b"blue")
        assert failure.value.errno == errno.ENOTSUP and "keeps no attributes of directories" in mount.log()
        assert os.stat(mount / "a").st_mode == 0o040700
        return
    os.setxattr(mount / "a", "user.color", b"blue")
    os.rmdir(mount / "b")
    os.rename(mount / "a", mount / "c")
    settled(mount)
    assert os.stat(mount / "c").st_mode == 0o040700 and os.getxattr(mount / "c", "user.color") == b"blue"
    found = bucket.s3.head_object(Bucket=bucket.name, Key="c/")["Metadata"]
    assert found == {"mode": str(0o040700), "color": "blue"}
    assert "b" not in os.listdir(mount.path)


def test_N4_the_times_of_access_and_change_are_as_on_a_disk(mount, bucket, mounts):
    with open(mount / "f", "w") as file:
        file.write("x")
    begin = time.time()
    os.utime(mount / "f", (1_000_000_000.25, 1_100_000_000.5))
    seen = os.stat(mount / "f")
    assert (seen.st_atime, seen.st_mtime) == (1_000_000_000.25, 1_100_000_000.5) and seen.st_ctime > begin - 1
    os.utime(mount.path, (5, 5))
    os.rename(mount / "f", mount / "g")
    assert os.stat(mount.path).st_mtime > begin - 1
    assert mount.stop().returncode == 0
    other = mounts(bucket.url, bucket.endpoint, options=["--metadata-from", "head"]).start()
    seen = os.stat(other / "g")
    assert (seen.st_atime, seen.st_mtime) == (1_000_000_000.25, 1_100_000_000.5)


def test_W4_what_was_set_survives_a_kill(mount, bucket, mounts):
    with open(mount / "f", "w") as file:
        file.write("x")
    os.mkdir(mount / "d")
    os.mkdir(mount / "first")
    os.chmod(mount / "first", 0o700)
    os.chmod(mount / "f", 0o600)
    os.chmod(mount / "d", 0o700)
    mount.kill()
    again = mounts(bucket.url, bucket.endpoint, cache=mount.cache, directory=mount.path)
    subprocess.run(["umount", "-l", mount.path], check=True)
    again.start()
    settled(again)
    assert bucket.s3.head_object(Bucket=bucket.name, Key="f")["Metadata"]["mode"] == str(0o100600)
    if keeps_directories(bucket.server):
        assert os.stat(again / "d").st_mode == 0o040700
        assert bucket.s3.head_object(Bucket=bucket.name, Key="d/")["Metadata"] == {"mode": str(0o040700)}


def test_W1_fsync_stores_what_was_set(mount, bucket):
    with open(mount / "f", "w") as file:
        file.write("x")
    os.chmod(mount / "f", 0o600)
    with open(mount / "f") as file:
        os.fsync(file.fileno())
    assert bucket.s3.head_object(Bucket=bucket.name, Key="f")["Metadata"]["mode"] == str(0o100600)


def test_with_sync_what_is_set_is_stored_before_the_call_returns(bucket, mounts):
    mount = mounts(bucket.url, bucket.endpoint, options=["-o", "sync"]).start()
    bucket.put("f", b"x")
    os.chmod(mount / "f", 0o600)
    assert bucket.s3.head_object(Bucket=bucket.name, Key="f")["Metadata"]["mode"] == str(0o100600)


def test_copies_of_what_was_just_set_are_whole(mount):
    with open(mount / "f", "w") as file:
        file.write("hello")
    for i in range(5):
        os.chmod(mount / "f", 0o600 + i)
        shutil.copyfile(mount / "f", mount / ("g%d" % i))
        shell('cp --reflink=never "$1"/f "$1"/h', mount.path)
    assert mount.read("g4") == b"hello" and mount.read("h") == b"hello"
