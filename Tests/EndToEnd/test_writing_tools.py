"""Ordinary programs writing into a mount."""

import os
import random
import shutil
import subprocess
import time

import h5py
import numpy
import pyarrow
import pyarrow.parquet as parquet
import pytest

from conftest import SERVERS, Bucket, run

MIB = 1 << 20


@pytest.fixture(params=sorted(SERVERS) + ["file", "tos-fns", "tos-hns"])
def mount(request, make_tos_bucket, mounts, tmp_path):
    """A mount of an empty bucket on each server, of a local directory, and of both kinds of TOS's buckets."""
    if request.param.startswith("tos-"):
        bucket = make_tos_bucket("moto", type=request.param[4:])
        yield mounts(bucket.url, bucket.endpoint).start()
        return
    if request.param == "file":
        (tmp_path / "bucket").mkdir()
        yield mounts("file://%s" % (tmp_path / "bucket")).start()
        return
    bucket = Bucket(request.param, SERVERS[request.param])
    yield mounts(bucket.url, bucket.endpoint).start()
    bucket.clear()


@pytest.fixture
def tree(tmp_path):
    """A tree of files of many sizes."""
    source = tmp_path / "source"
    generator = random.Random(7)
    for i in range(30):
        path = source / ("d%d" % (i % 5)) / ("s%d" % (i % 3)) / ("f%d" % i)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(generator.randbytes(generator.choice([0, 1, 100, 4096, 70000, 300000])))
    (source / "empty").mkdir()
    return source


def shell(script, *arguments, timeout=180, cwd=None):
    result = subprocess.run(["bash", "-ec", script, "sh", *map(str, arguments)], capture_output=True, text=True,
                            timeout=timeout, cwd=cwd)
    assert result.returncode == 0, "%s\n%s\n%s" % (script, result.stdout, result.stderr)
    return result.stdout


def test_trees_are_copied_in_and_out(mount, tree, tmp_path):
    shell('cp -a "$1" "$2"/copy && diff -r "$1" "$2"/copy', tree, mount.path)
    shell('cp -a "$1"/copy "$2" && diff -r "$2" "$3"', mount.path, tmp_path / "back", tree)
    shutil.copytree(tree, mount / "second")
    shell('diff -r "$1" "$2"/second && rm -r "$2"/second && test ! -e "$2"/second', tree, mount.path)


def test_rsync_sends_nothing_the_second_time(mount, tree):
    shell('rsync -a "$1"/ "$2"/r/ && diff -r "$1" "$2"/r', tree, mount.path)
    again = shell('rsync -ai "$1"/ "$2"/r/', tree, mount.path)
    assert [line for line in again.splitlines() if line.startswith(">f")] == [], again


def test_archives_are_unpacked(mount, tree, tmp_path):
    shell('tar cf "$3"/t.tar -C "$1" . && mkdir "$2"/t && tar xf "$3"/t.tar -C "$2"/t && diff -r "$1" "$2"/t',
          tree, mount.path, tmp_path)
    shell('cd "$1" && zip -qr "$3"/t.zip . && mkdir "$2"/z && unzip -q "$3"/t.zip -d "$2"/z && diff -r "$1" "$2"/z',
          tree, mount.path, tmp_path)
    shell('tar cf "$2"/in.tar -C "$1" . && tar df "$2"/in.tar -C "$1"', tree, mount.path)


def test_files_are_edited_as_editors_do(mount):
    path = mount / "text"
    shell('printf "one\\ntwo\\n" > "$1" && sed -i s/two/2/ "$1" && test "$(cat "$1")" = "$(printf "one\\n2")"', path)
    shell('printf "%s\\n" "1s/one/ONE/" w q | ed -s "$1" && grep -q ONE "$1"', path)
    # As vim saves: by a backup that is renamed and a new file, or over the old one.
    for options in ("set backupcopy=no", "set backupcopy=yes"):
        shell('vim -Nes -u NONE -c "$2" -c "normal Gox" -c wq "$1" && tail -n 1 "$1" | grep -qx x', path, options)
    with open(path + ".tmp", "w") as file:
        file.write("replaced")
    os.replace(path + ".tmp", path)
    assert open(path).read() == "replaced" and os.listdir(mount.path) == ["text"]


def test_git_works_in_the_mount(mount, tmp_path):
    script = """
    export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b HOME="$2"
    git init -q "$2"/origin && cd "$2"/origin
    for i in 1 2 3; do echo $i > f$i; done; git add . && git commit -qm one
    git clone -q "$2"/origin "$1"/clone && cd "$1"/clone
    test "$(cat f2)" = 2
    echo four > f4 && git add f4 && git commit -qm two
    git gc -q && git fsck --strict && git status --porcelain > "$2"/status
    test ! -s "$2"/status && test "$(git log --oneline | wc -l)" = 2
    """
    shell(script, mount.path, tmp_path)


def test_sqlite_works_in_the_mount(mount):
    script = """
    sqlite3 "$1" 'create table t(a, b); insert into t values (1, 2), (3, 4);'
    sqlite3 "$1" 'begin; insert into t select a + 10, b from t; commit; update t set b = b + 1; vacuum;'
    test "$(sqlite3 "$1" 'select count(*), sum(a), sum(b) from t; pragma integrity_check;')" = "4|28|16
ok"
    """
    shell(script, mount / "db")
    assert os.listdir(mount.path) == ["db"]


def test_a_program_is_built_in_the_mount(mount):
    script = """
    cd "$1"
    for i in 1 2 3; do echo "int f$i(void) { return $i; }" > f$i.c; done
    printf 'int f1(void), f2(void), f3(void);\\nint main(void) { return f1() + f2() + f3() - 6; }\\n' > main.c
    printf 'p: main.o f1.o f2.o f3.o\\n\\tgcc -o p main.o f1.o f2.o f3.o\\n' > Makefile
    make -s && cp p "$2" && "$2"
    """
    shell(script, mount.path, mount.path + ".program")


def test_files_are_moved_within_the_mount(mount):
    script = """
    set -x; cd "$1" && mkdir -p a/b c && echo x > a/b/f && mv a/b/f c/g && test "$(cat c/g)" = x
    mv c d && test "$(cat d/g)" = x && test ! -e c && rmdir a/b && rmdir a && rm -r d && ls -laR && test -z "$(ls -A)"
    """
    shell(script, mount.path)


@pytest.mark.parametrize("engine, pattern", [("psync", "randwrite"), ("mmap", "randrw")])
def test_bytes_written_at_random_are_verified(mount, engine, pattern):
    script = """
    cd "$1" && fio --name=v --filename=v --size=8m --bs=4k-64k --rw="$3" --verify=crc32c --do_verify=1 \
      --ioengine="$2" --verify_fatal=1 --minimal > /dev/null
    """
    shell(script, mount.path, engine, pattern)


def test_sqlite_writes_ahead_in_the_mount(mount):
    """Its index of the log is memory that is shared through a mapping of a file."""
    script = """
    test "$(sqlite3 "$1" 'pragma journal_mode = wal; create table t(a);')" = wal
    for i in 1 2 3; do sqlite3 -cmd '.timeout 60000' "$1" "insert into t values ($i);" & done; wait
    sqlite3 "$1" 'pragma wal_checkpoint(truncate);' > /dev/null
    test "$(sqlite3 "$1" 'select count(*) from t; pragma integrity_check;')" = "3
ok"
    """
    shell(script, mount / "db")


def test_arrays_are_written_by_h5py_and_read_back(mount):
    values = numpy.random.default_rng(1).integers(0, 1 << 40, 300_000)
    with h5py.File(mount / "a.h5", "w") as file:
        file.create_dataset("values", data=values, chunks=(4096,), compression="gzip")
    with h5py.File(mount / "a.h5", "r+") as file:
        file["values"][1000:1010] = 7
        file["more"] = numpy.arange(5)
    values[1000:1010] = 7
    with h5py.File(mount / "a.h5", "r") as file:
        assert (file["values"][:] == values).all() and list(file["more"]) == [0, 1, 2, 3, 4]


def test_tables_are_written_by_pyarrow_and_read_back(mount):
    table = pyarrow.table({"number": list(range(50_000)), "name": ["n%d" % (i % 97) for i in range(50_000)]})
    parquet.write_table(table, mount / "t.parquet", row_group_size=10_000)
    assert parquet.read_table(mount / "t.parquet").equals(table)
    assert parquet.read_table(mount / "t.parquet", columns=["name"]).column("name")[49_999].as_py() == "n44"
    with pyarrow.OSFile(mount / "t.arrow", "wb") as sink, pyarrow.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    with pyarrow.memory_map(mount / "t.arrow") as source:
        assert pyarrow.ipc.open_file(source).read_all().equals(table)


def test_trees_are_moved_and_removed_by_find_and_python(mount, tree):
    shutil.copytree(tree, mount / "a")
    shutil.move(mount / "a", mount / "b")
    shell('diff -r "$1" "$2"', tree, mount / "b")
    shell('find "$1" -name "f1*" -delete && test -z "$(find "$1" -name "f1*")" && find "$1" -depth -delete',
          mount / "b")
    shutil.copytree(tree, mount / "c", copy_function=shutil.copyfile)
    shutil.rmtree(mount / "c")
    assert os.listdir(mount.path) == []


# What each needs to be small; a second of each.
STRESSORS = {
    "hdd": ["--hdd-bytes", "2m"], "seek": ["--seek-size", "2m"], "dentry": ["--dentries", "20"], "rename": [],
    "fallocate": ["--fallocate-bytes", "2m"], "mmap": ["--mmap-file", "--mmap-bytes", "2m"], "utime": [],
    "sync-file": ["--sync-file-bytes", "2m"], "flock": [], "lockf": [], "touch": [], "open": [], "chmod": [],
}


@pytest.mark.parametrize("stressor", STRESSORS)
def test_stress_ng_finds_nothing_wrong(strict_bucket, mounts, stressor):
    mount = mounts(strict_bucket.url, strict_bucket.endpoint).start()
    result = run(["stress-ng", "--temp-path", mount.path, "--verify", "--timeout", "1", "--" + stressor, "2",
                  *STRESSORS[stressor]], timeout=120)
    assert result.returncode == 0 and "fail" not in result.stderr, result
    assert os.listdir(mount.path) == [] and mount.status()["unsaved"] == []
