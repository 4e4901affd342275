"""Symbolic links, and attributes that other tools have stored, on real mounts."""

import errno
import os
import stat
import subprocess

import pytest

from conftest import SERVERS, Bucket
from programs import wait_for

S_IFLNK = str(0o120777)


@pytest.fixture(params=sorted(SERVERS) + ["file", "tos-fns", "tos-hns"])
def place(request, make_tos_bucket, mounts, tmp_path):
    """Makes mounts of one empty bucket, each with a cache of its own unless it is said."""
    bucket = None
    if request.param.startswith("tos-"):
        made = make_tos_bucket("moto", type=request.param[4:])
        url, endpoint = made.url, made.endpoint
    elif request.param == "file":
        (tmp_path / "bucket").mkdir()
        url, endpoint = "file://%s" % (tmp_path / "bucket"), None
    else:
        bucket = Bucket(request.param, SERVERS[request.param])
        url, endpoint = bucket.url, bucket.endpoint

    def make(*options, **named):
        return mounts(url, endpoint, options=options, **named).start()

    yield make
    if bucket:
        bucket.clear()


def shell(script, *arguments, timeout=180):
    result = subprocess.run(["bash", "-ec", script, "sh", *map(str, arguments)], capture_output=True, text=True,
                            timeout=timeout)
    assert result.returncode == 0, "%s\n%s\n%s" % (script, result.stdout, result.stderr)
    return result.stdout


def test_N4_links_are_made_followed_renamed_and_removed(place):
    mount = place()
    os.mkdir(mount / "d")
    with open(mount / "d/f", "w") as file:
        file.write("hello")
    os.symlink("d/f", mount / "l")
    os.symlink("/nowhere/at all", mount / "dangling")
    os.symlink("d", mount / "way")
    assert os.readlink(mount / "l") == "d/f" and os.readlink(mount / "dangling") == "/nowhere/at all"
    assert stat.S_ISLNK(os.lstat(mount / "l").st_mode) and os.lstat(mount / "l").st_size == 3
    assert mount.read("l") == b"hello" and mount.read("way/f") == b"hello"
    assert not os.path.exists(mount / "dangling")
    with open(mount / "l", "a") as file:
        file.write("!")
    assert mount.read("d/f") == b"hello!"
    os.rename(mount / "l", mount / "d/k")
    assert os.readlink(mount / "d/k") == "d/f" and not os.path.lexists(mount / "l")
    with pytest.raises(FileExistsError):
        os.symlink("x", mount / "d/k")
    os.rename(mount / "d", mount / "e")
    assert os.readlink(mount / "e/k") == "d/f"
    with os.scandir(mount.path) as entries:
        assert sorted(e.name for e in entries if e.is_symlink()) == ["dangling", "way"]
    os.unlink(mount / "dangling")
    assert not os.path.lexists(mount / "dangling") and {"e", "way"} <= set(os.listdir(mount.path))


def test_N4_links_are_still_links_for_the_next_mount_and_for_others_that_ask(place):
    mount = place()
    os.symlink("there", mount / "l")
    assert mount.stop().returncode == 0
    again = place(cache=mount.cache)
    assert os.listdir(again.path) == ["l"] and os.readlink(again / "l") == "there"
    other = place("--metadata-from", "head")
    assert os.listdir(other.path) == ["l"] and os.readlink(other / "l") == "there"


def test_N4_trees_with_links_are_copied_unpacked_and_synchronized(place, tmp_path):
    mount = place()
    source = tmp_path / "source"
    (source / "a/b").mkdir(parents=True)
    (source / "a/b/f").write_text("x")
    os.symlink("b/f", source / "a/l")
    os.symlink("../nowhere", source / "a/b/dangling")
    os.symlink("a/b", source / "way")
    script = """
    compare() { (cd "$1" && find . -printf '%y %p %l\\n' | sort) > "$3"/one; \
                (cd "$2" && find . -printf '%y %p %l\\n' | sort) > "$3"/two; diff "$3"/one "$3"/two; }
    cp -a "$1" "$2"/cp && compare "$1" "$2"/cp "$3"
    mkdir "$2"/tar && tar cf - -C "$1" . | tar xf - -C "$2"/tar && compare "$1" "$2"/tar "$3"
    rsync -a "$1"/ "$2"/rsync/ && compare "$1" "$2"/rsync "$3"
    test -z "$(rsync -ain "$1"/ "$2"/rsync/ | grep -v '^.d' || true)"
    cp -a "$2"/cp "$2"/again && compare "$1" "$2"/again "$3"
    cp -a "$2"/cp "$3"/back && compare "$1" "$3"/back "$3"
    rm -r "$2"/cp "$2"/tar "$2"/rsync "$2"/again && test -z "$(ls -A "$2")"
    """
    shell(script, source, mount.path, tmp_path)


def test_N4_git_keeps_links(place, tmp_path):
    mount = place()
    script = """
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b HOME="$2"
    git init -q "$2"/origin && cd "$2"/origin
    echo 1 > f && ln -s f l && git add . && git commit -qm one
    git clone -q "$2"/origin "$1"/clone && cd "$1"/clone
    test "$(readlink l)" = f && ln -sf g l && git add l && git commit -qm two
    test -z "$(git status --porcelain)" && git ls-tree HEAD l | grep -q ^120000
    """
    shell(script, mount.path, tmp_path)


@pytest.fixture
def bucket(request):
    bucket = Bucket("moto", SERVERS["moto"])
    yield bucket
    bucket.clear()


def put(bucket, key, body, **metadata):
    bucket.s3.put_object(Bucket=bucket.name, Key=key, Body=body, Metadata=metadata)


def test_N3_what_other_tools_stored_is_shown_when_it_is_asked_for(bucket, mounts):
    put(bucket, "s3fs", b"x", mode=str(0o100640), uid="7", gid="8", mtime="1234567890", ctime="1", atime="1")
    put(bucket, "datasync", b"x", **{"file-permissions": "0100600", "file-owner": "9", "file-mtime": "1234567890000000000ns"})
    put(bucket, "rclone", b"x", mtime="1234567890.5")
    put(bucket, "link", b"s3fs", mode=S_IFLNK)
    put(bucket, "dir/", b"", mode=str(0o040700), uid="7")
    mount = mounts(bucket.url, bucket.endpoint, options=["--metadata-from", "head"]).start()
    found = {entry.name: entry.stat(follow_symlinks=False) for entry in os.scandir(mount.path)}
    assert (found["s3fs"].st_mode, found["s3fs"].st_uid, found["s3fs"].st_gid) == (0o100640, 7, 8)
    assert found["s3fs"].st_mtime == 1234567890 and found["rclone"].st_mtime == 1234567890.5
    assert (found["datasync"].st_mode, found["datasync"].st_uid) == (0o100600, 9)
    assert found["datasync"].st_mtime == 1234567890
    assert (found["dir"].st_mode, found["dir"].st_uid) == (0o040700, 7)
    assert os.readlink(mount / "link") == "s3fs"
    # Without it a listing's time and the mount's mode; what comes with the bytes is used from then on.
    plain = mounts(bucket.url, bucket.endpoint, options=["--metadata-ttl", "1"]).start()
    found = {entry.name: entry.stat(follow_symlinks=False) for entry in os.scandir(plain.path)}
    assert stat.S_IMODE(found["s3fs"].st_mode) == 0o644
    assert plain.read("s3fs") == b"x"
    counted = plain.status()["counters"]["requests"].get("HeadObject", 0)
    wait_for(lambda: os.stat(plain / "s3fs").st_mode == 0o100640, "the mode that came with the bytes")
    assert plain.status()["counters"]["requests"].get("HeadObject", 0) <= counted + 1


def test_hostile_links_are_errors_with_reasons(bucket, mounts):
    put(bucket, "nul", b"a\0b", mode=S_IFLNK)
    put(bucket, "empty", b"", mode=S_IFLNK)
    put(bucket, "long", b"x" * 5000, mode=S_IFLNK)
    put(bucket, "loop", b"loop", mode=S_IFLNK)
    mount = mounts(bucket.url, bucket.endpoint, options=["--metadata-from", "head"]).start()
    for name in ("nul", "empty", "long"):
        with pytest.raises(OSError) as failure:
            os.readlink(mount / name)
        assert failure.value.errno == errno.EIO, name
    with pytest.raises(OSError) as failure:
        open(mount / "loop")
    assert failure.value.errno == errno.ELOOP
    assert len([e for e in mount.status()["errors"] if "symbolic link" in e["message"]]) == 3


def test_links_need_a_style_that_stores_metadata(bucket, mounts):
    mount = mounts(bucket.url, bucket.endpoint, options=["--metadata-style", "none"]).start()
    with pytest.raises(OSError) as failure:
        os.symlink("x", mount / "l")
    assert failure.value.errno == errno.ENOTSUP and os.listdir(mount.path) == []
