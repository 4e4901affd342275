"""What programs write through a mount, seen by the mount, by another mount, and by another client."""

import errno
import mmap
import os
import random
import subprocess
import threading
import time

import pytest

from conftest import DIPPER, run, wait_for

MIB = 1 << 20


@pytest.fixture
def mounted(bucket, mounts):
    """Makes mounts of a bucket with these objects."""

    def make(objects=None, **facts):
        for key, body in (objects or {}).items():
            bucket.put(key, body)
        return mounts(bucket.url, bucket.endpoint, **facts).start()

    return make


def keys(bucket, prefix=""):
    listed = bucket.s3.list_objects_v2(Bucket=bucket.name, Prefix=prefix)
    return sorted(entry["Key"] for entry in listed.get("Contents", []))


def tops(bucket):
    """What another client sees at the top; some stores have an empty directory without a key."""
    listed = bucket.s3.list_objects_v2(Bucket=bucket.name, Delimiter="/")
    return sorted([entry["Key"] for entry in listed.get("Contents", [])]
                  + [entry["Prefix"] for entry in listed.get("CommonPrefixes", [])])


def test_W1_what_is_closed_is_stored(mounted, bucket):
    mount = mounted()
    assert mount.status()["read_only"] is False
    with open(mount / "f", "wb") as file:
        file.write(b"hello")
    assert bucket.get("f") == b"hello"
    assert mount.read("f") == b"hello" and os.listdir(mount.path) == ["f"]
    # Also what is empty, and what was emptied.
    open(mount / "empty", "wb").close()
    assert bucket.get("empty") == b""
    open(mount / "f", "wb").close()
    assert bucket.get("f") == b""
    status = mount.status()
    assert status["cache"]["dirty_bytes"] == 0 and status["unsaved"] == [] and status["transfers"] == []


@pytest.mark.parametrize("command", ["echo bytes > f", "printf 'bytes\\n' | dd of=f status=none", "/bin/echo bytes > f"])
def test_W1_what_a_shell_opens_for_a_program_is_stored_once(mounted, bucket, command):
    mount = mounted()
    for _ in range(2):
        before = mount.status()["counters"]["requests"].get("PutObject", 0)
        run(["sh", "-c", command], cwd=mount.path, check=True)
        assert bucket.get("f") == b"bytes\n"
        assert mount.status()["counters"]["requests"]["PutObject"] == before + 1
    run(["sh", "-c", ": > f"], cwd=mount.path, check=True)
    assert bucket.get("f") == b""


def test_W1_an_empty_file_is_stored_by_the_close_of_the_last_descriptor_to_write_to_it(mounted, bucket):
    mount = mounted()
    first = os.open(mount / "f", os.O_CREAT | os.O_WRONLY)
    second = os.dup(first)
    os.close(first)
    assert keys(bucket) == []
    os.close(second)
    assert keys(bucket) == ["f"]
    # Who only reads stores nothing.
    first = os.open(mount / "g", os.O_CREAT | os.O_WRONLY)
    second = os.open(mount / "g", os.O_RDONLY)
    os.close(first)
    assert keys(bucket) == ["f", "g"]
    os.close(second)
    # Whatever ends the process that has the other one.
    program = "import os, signal; fd = os.open('h', os.O_CREAT | os.O_WRONLY); os.dup(fd); os.close(fd); " \
        "print(end='', flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    run(["python3", "-c", program], cwd=mount.path)
    wait_for(lambda: keys(bucket) == ["f", "g", "h"], "the file of the killed process")


def test_W1_what_is_synchronized_is_stored_before_it_is_closed(mounted, bucket):
    mount = mounted()
    with open(mount / "f", "wb") as file:
        file.write(b"one")
        file.flush()
        os.fsync(file.fileno())
        assert bucket.get("f") == b"one"
        file.write(b"two")
    assert bucket.get("f") == b"onetwo"


def test_W2_a_large_file_is_stored_whole(mounted, bucket):
    data = random.Random(1).randbytes(45 * MIB + 12345)
    mount = mounted()
    with open(mount / "big", "wb") as file:
        for start in range(0, len(data), 1000003):
            file.write(data[start : start + 1000003])
    assert bucket.get("big") == data
    assert mount.read("big") == data


def test_W2_bytes_are_changed_in_place(mounted, bucket):
    data = bytearray(random.Random(2).randbytes(3 * MIB))
    mount = mounted({"f": bytes(data)})
    with open(mount / "f", "r+b") as file:
        for offset in (0, 1000, 131072, len(data) - 3):
            file.seek(offset)
            file.write(b"XYZ")
            data[offset : offset + 3] = b"XYZ"
        file.seek(500)
        assert file.read(2000) == bytes(data[500:2500])
    assert bucket.get("f") == bytes(data)
    result = run(["dd", "if=/dev/zero", "of=" + (mount / "f"), "bs=1000", "count=3", "seek=7", "conv=notrunc"])
    assert result.returncode == 0, result
    data[7000:10000] = bytes(3000)
    assert bucket.get("f") == bytes(data)


def test_W2_every_handle_reads_what_any_has_written(mounted):
    mount = mounted({"f": b"0123456789"})
    reader = os.open(mount / "f", os.O_RDONLY)
    assert os.pread(reader, 10, 0) == b"0123456789"
    writer = os.open(mount / "f", os.O_WRONLY)
    os.pwrite(writer, b"AB", 3)
    assert os.pread(reader, 10, 0) == b"012AB56789"
    os.pwrite(writer, b"tail", 20)
    other = os.open(mount / "f", os.O_RDONLY)
    assert os.pread(other, 100, 0) == b"012AB56789" + bytes(10) + b"tail"
    assert os.fstat(reader).st_size == 24 == os.stat(mount / "f").st_size
    for file in (reader, writer, other):
        os.close(file)
    assert mount.read("f") == b"012AB56789" + bytes(10) + b"tail"


def test_W2_files_are_cut_and_grow(mounted, bucket):
    mount = mounted({"f": b"0123456789"})
    os.truncate(mount / "f", 4)
    assert bucket.get("f") == b"0123"
    os.truncate(mount / "f", 8)
    assert bucket.get("f") == b"0123" + bytes(4) == mount.read("f")
    with open(mount / "f", "r+b") as file:
        file.truncate(2)
        file.seek(5)
        file.write(b"x")
    assert bucket.get("f") == b"01" + bytes(3) + b"x"
    os.truncate(mount / "f", 0)
    assert bucket.get("f") == b""
    assert run(["fallocate", "-l", "5000", mount / "f"]).returncode == 0
    assert bucket.get("f") == bytes(5000)


def test_W2_two_processes_append_without_loss(mounted, bucket):
    mount = mounted({"log": b""})
    script = "import os,sys\nf=os.open(sys.argv[1],os.O_WRONLY|os.O_APPEND)\nfor i in range(300): os.write(f,b'%s %06d\\n'%(sys.argv[2].encode(),i))\n"
    writers = [subprocess.Popen(["python3", "-c", script, mount / "log", name]) for name in ("a", "b")]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    lines = bucket.get("log").decode().splitlines()
    assert len(lines) == 600
    for name in ("a", "b"):
        assert [line for line in lines if line[0] == name] == ["%s %06d" % (name, i) for i in range(300)]


def test_W2_what_is_written_through_a_mapping_is_stored(mounted, bucket):
    data = random.Random(3).randbytes(300000)
    mount = mounted({"f": data})
    with open(mount / "f", "r+b") as file:
        with mmap.mmap(file.fileno(), 0) as mapped:
            mapped[10:14] = b"MAPS"
            mapped[200000:200004] = b"MAPS"
            mapped.flush()
    expected = data[:10] + b"MAPS" + data[14:200000] + b"MAPS" + data[200004:]
    assert bucket.get("f") == expected


def test_W2_a_mapping_that_outlives_its_file_is_stored(mounted, bucket):
    mount = mounted({"f": b"a" * 10000})
    file = os.open(mount / "f", os.O_RDWR)
    mapped = mmap.mmap(file, 0)
    os.close(file)
    mapped[5000:5003] = b"xyz"
    mapped.close()
    wait_for(lambda: bucket.get("f")[5000:5003] == b"xyz", "the pages to be stored")


def test_W3_the_loser_of_two_writers_is_told_and_keeps_its_bytes(mounted, bucket):
    mount = mounted({"f": b"first"})
    file = os.open(mount / "f", os.O_RDWR)
    os.pwrite(file, b"mine!", 0)
    bucket.put("f", b"theirs")
    with pytest.raises(OSError) as failure:
        os.fsync(file)
    assert failure.value.errno == errno.ESTALE
    with pytest.raises(OSError):
        os.close(file)
    assert bucket.get("f") == b"theirs"
    unsaved = mount.status()["unsaved"]
    assert [(item["path"], item["bytes"]) for item in unsaved] == [("f", 5)], unsaved
    assert "changed by somebody else" in unsaved[0]["reason"] and os.path.exists(unsaved[0]["kept_at"])
    wait_for(lambda: mount.read("f") == b"theirs", "the name to lead to the other's object")


def test_W3_a_new_file_does_not_replace_what_came_meanwhile(mounted, bucket):
    mount = mounted()
    file = os.open(mount / "f", os.O_CREAT | os.O_WRONLY)
    os.write(file, b"mine")
    bucket.put("f", b"theirs")
    with pytest.raises(OSError) as failure:
        os.fsync(file)
    assert failure.value.errno == errno.EEXIST
    with pytest.raises(OSError):
        os.close(file)
    assert bucket.get("f") == b"theirs"
    assert [item["path"] for item in mount.status()["unsaved"]] == ["f"]


def test_W5_others_see_the_old_object_or_the_new_one(mounted, bucket):
    mount = mounted({"f": b"o" * 100000})
    seen, stop = set(), threading.Event()

    def look():
        while not stop.is_set():
            body = bucket.get("f")
            seen.add((len(body), len(set(body))))

    thread = threading.Thread(target=look)
    thread.start()
    for _ in range(5):
        with open(mount / "f", "r+b") as file:
            file.write(b"n" * 50000)
            file.write(b"n" * 50000)
        with open(mount / "f", "wb") as file:
            file.write(b"o" * 100000)
    stop.set()
    thread.join()
    assert seen == {(100000, 1)}


def test_two_mounts_agree_from_close_to_open(mounted, bucket, mounts):
    one, two = mounted(), mounted()
    with open(one / "f", "w") as file:
        file.write("one")
    time.sleep(1.2)
    assert two.read("f") == b"one"
    with open(two / "f", "w") as file:
        file.write("two, and longer")
    time.sleep(1.2)
    assert one.read("f") == b"two, and longer"
    os.rename(one / "f", one / "g")
    time.sleep(1.2)
    assert os.listdir(two.path) == ["g"]


def test_N2_directories_are_made_and_removed(mounted, bucket):
    mount = mounted()
    os.mkdir(mount / "d")
    head = bucket.s3.head_object(Bucket=bucket.name, Key="d/")
    assert head["ContentLength"] == 0 and head["ContentType"] == "application/x-directory"
    with pytest.raises(OSError) as failure:
        os.mkdir(mount / "d")
    assert failure.value.errno == errno.EEXIST
    os.makedirs(mount / "d/e/g")
    with pytest.raises(OSError) as failure:
        os.rmdir(mount / "d")
    assert failure.value.errno == errno.ENOTEMPTY
    os.rmdir(mount / "d/e/g")
    os.rmdir(mount / "d/e")
    os.rmdir(mount / "d")
    assert os.listdir(mount.path) == [] and keys(bucket) == []
    with pytest.raises(OSError) as failure:
        os.listdir(mount / "d")
    assert failure.value.errno == errno.ENOENT


def test_N2_a_directory_stays_when_its_last_file_is_removed(mounted, bucket):
    mount = mounted({"d/only": b"x"})
    os.unlink(mount / "d/only")
    assert os.listdir(mount.path) == ["d"] and os.listdir(mount / "d") == []
    wait_for(lambda: tops(bucket) == ["d/"], "the marker of the directory")
    time.sleep(2.5)
    assert tops(bucket) == ["d/"] and os.listdir(mount.path) == ["d"]
    os.rmdir(mount / "d")
    assert tops(bucket) == [] and os.listdir(mount.path) == []


def test_N2_an_unmount_does_not_forget_an_emptied_directory(mounted, bucket):
    mount = mounted({"d/only": b"x"})
    os.unlink(mount / "d/only")
    assert mount.stop().returncode == 0
    assert tops(bucket) == ["d/"]


def test_names_are_seen_at_once(mounted, bucket):
    mount = mounted({"old/f%d" % i: b"x" for i in range(5)})
    assert sorted(os.listdir(mount / "old")) == ["f%d" % i for i in range(5)]
    with open(mount / "old/new", "w") as file:
        assert "new" in os.listdir(mount / "old") and os.stat(mount / "old/new").st_size == 0
        file.write("x")
    os.unlink(mount / "old/f3")
    assert sorted(os.listdir(mount / "old")) == ["f0", "f1", "f2", "f4", "new"]
    assert not os.path.exists(mount / "old/f3")
    with open(mount / "old/f3", "w") as file:
        file.write("again")
    assert mount.read("old/f3") == b"again" and bucket.get("old/f3") == b"again"


def test_a_removed_file_is_read_on_by_who_has_it_open(mounted, bucket):
    mount = mounted()
    file = os.open(mount / "f", os.O_CREAT | os.O_RDWR)
    os.write(file, b"data")
    os.unlink(mount / "f")
    assert os.pread(file, 10, 0) == b"data" and os.fstat(file).st_nlink == 0
    os.pwrite(file, b"more", 4)
    assert os.pread(file, 10, 0) == b"datamore"
    os.close(file)
    assert keys(bucket) == [] and os.listdir(mount.path) == []
    assert mount.status()["unsaved"] == [] and mount.status()["cache"]["dirty_bytes"] == 0


def test_files_are_renamed(mounted, bucket):
    mount = mounted({"a": b"1", "b": b"2", "d/c": b"3"})
    os.rename(mount / "a", mount / "d/a")
    assert keys(bucket) == ["b", "d/a", "d/c"] and mount.read("d/a") == b"1"
    os.rename(mount / "d/a", mount / "b")
    assert keys(bucket) == ["b", "d/c"] and mount.read("b") == b"1" and sorted(os.listdir(mount.path)) == ["b", "d"]
    assert run(["mv", "-n", mount / "b", mount / "d/c"]).returncode in (0, 1)
    assert mount.read("d/c") == b"3" and mount.read("b") == b"1"
    # A file that is open is renamed with what is in it, and goes on.
    with open(mount / "new.part", "wb") as file:
        file.write(b"begin")
        file.flush()
        os.rename(mount / "new.part", mount / "new")
        file.write(b", end")
    assert bucket.get("new") == b"begin, end" and "new.part" not in keys(bucket)
    assert sorted(os.listdir(mount.path)) == ["b", "d", "new"]
    result = run(["mv", mount / "d", mount / "e"])
    assert result.returncode == 0 and mount.read("e/c") == b"3" and not os.path.exists(mount / "d"), result


def test_a_read_only_mount_refuses_every_change(mounted):
    mount = mounted({"f": b"x"}, options=["--read-only"])
    assert mount.status()["read_only"] is True
    for attempt in (
        lambda: open(mount / "f", "ab"),
        lambda: open(mount / "new", "wb"),
        lambda: os.mkdir(mount / "d"),
        lambda: os.unlink(mount / "f"),
        lambda: os.rename(mount / "f", mount / "g"),
        lambda: os.truncate(mount / "f", 0),
        lambda: os.chmod(mount / "f", 0o600),
    ):
        with pytest.raises(OSError) as failure:
            attempt()
        assert failure.value.errno == errno.EROFS
    assert mount.read("f") == b"x"


def test_what_a_bucket_cannot_hold_is_refused(mounted):
    mount = mounted({"f": b"x"})
    for attempt, code in (
        (lambda: os.link(mount / "f", mount / "g"), errno.EPERM),
        (lambda: os.mkfifo(mount / "p"), errno.EPERM),
        (lambda: open(mount / ("n" * 256), "w"), errno.ENAMETOOLONG),
        (lambda: os.setxattr(mount / "f", "trusted.x", b"y"), errno.ENOTSUP),
        (lambda: os.setxattr(mount / "f", "user.dipper.etag", b"y"), errno.EPERM),
    ):
        with pytest.raises(OSError) as failure:
            attempt()
        assert failure.value.errno == code


def metadata(bucket, key):
    return bucket.s3.head_object(Bucket=bucket.name, Key=key)["Metadata"]


def spent(mount, before):
    after = mount.status()["counters"]["requests"]
    return {name: count - before.get(name, 0) for name, count in after.items() if count != before.get(name, 0)}


def test_N4_a_copy_keeps_mode_and_time_with_one_request(mounted, bucket, tmp_path):
    source = tmp_path / "f"
    source.write_bytes(b"hello")
    source.chmod(0o751)
    os.utime(source, ns=(0, 1_234_567_890_500_000_000))
    mount = mounted()
    os.listdir(mount.path)
    before = mount.status()["counters"]["requests"]
    assert run(["cp", "-p", source, mount / "f"]).returncode == 0
    cost = spent(mount, before)
    assert cost.pop("PutObject") == 1 and "CopyObject" not in cost, cost
    stored = metadata(bucket, "f")
    assert stored["mode"] == str(0o100751) and stored["mtime"] == "1234567890.5", stored
    found = os.stat(mount / "f")
    assert found.st_mode & 0o7777 == 0o751 and found.st_mtime_ns == 1_234_567_890_500_000_000
    # An archive's members come with theirs.
    assert run(["tar", "-C", tmp_path, "-cf", tmp_path / "a.tar", "f"]).returncode == 0
    os.mkdir(mount / "d")
    assert run(["tar", "-C", mount / "d", "-xpf", tmp_path / "a.tar"]).returncode == 0
    assert metadata(bucket, "d/f")["mode"] == str(0o100751)
    assert metadata(bucket, "d/f")["mtime"].startswith("1234567890")
    # What nobody asked for isn't there.
    with open(mount / "plain", "wb") as file:
        file.write(b"x")
    assert metadata(bucket, "plain") == {}


def test_N4_what_is_set_of_a_stored_file_is_stored(mounted, bucket):
    mount = mounted({"f": b"hello"})
    time_before = os.stat(mount / "f").st_mtime
    os.chmod(mount / "f", 0o600)
    wait_for(lambda: metadata(bucket, "f").get("mode") == str(0o100600), "the mode is stored")
    assert os.stat(mount / "f").st_mtime == time_before
    os.utime(mount / "f", ns=(0, 1_000_000_000))
    wait_for(lambda: metadata(bucket, "f").get("mtime") == "1", "the time is stored")
    assert bucket.get("f") == b"hello"
    os.setxattr(mount / "f", "user.color", b"blue")
    assert os.getxattr(mount / "f", "user.color") == b"blue" and "user.color" in os.listxattr(mount / "f")
    assert metadata(bucket, "f") == {"mode": str(0o100600), "mtime": "1", "atime": "0", "color": "blue"}
    os.removexattr(mount / "f", "user.color")
    assert "color" not in metadata(bucket, "f")
    # Another mount that asks for the object shows it.
    other = mounted()
    found = os.stat(other / "f")
    assert found.st_mode & 0o7777 == 0o600 and found.st_mtime == 1
    # What is written has its own time; that of the access stays, as on a disk.
    with open(mount / "f", "ab") as file:
        file.write(b"!")
    assert metadata(bucket, "f") == {"mode": str(0o100600), "atime": "0"}


def test_N4_metadata_is_kept_as_the_mount_was_told(mounted, bucket):
    mount = mounted({"f": b"hello"}, options=["--metadata-style", "datasync"])
    os.chmod(mount / "f", 0o640)
    wait_for(lambda: metadata(bucket, "f").get("file-permissions") == "0100640", "the mode is stored")


def test_W1_write_back_stores_after_the_close(mounted, bucket):
    mount = mounted(options=["--write-back", "2"])
    with open(mount / "f", "wb") as file:
        file.write(b"hello")
    assert "f" not in keys(bucket) and mount.read("f") == b"hello"
    # What is set of it meanwhile goes with it.
    os.chmod(mount / "f", 0o600)
    wait_for(lambda: "f" in keys(bucket), "the file is stored")
    assert bucket.get("f") == b"hello" and metadata(bucket, "f") == {"mode": str(0o100600)}
    # fsync and unmount wait for the store.
    with open(mount / "g", "wb") as file:
        file.write(b"now")
        file.flush()
        os.fsync(file.fileno())
        assert bucket.get("g") == b"now"
    with open(mount / "h", "wb") as file:
        file.write(b"late")
    assert mount.stop().returncode == 0 and bucket.get("h") == b"late"


def test_the_content_type_is_set(mounted, bucket):
    mount = mounted({"f": b"x"})
    os.setxattr(mount / "f", "user.dipper.content-type", b"text/csv")
    assert bucket.s3.head_object(Bucket=bucket.name, Key="f")["ContentType"] == "text/csv"
    assert os.getxattr(mount / "f", "user.dipper.content-type") == b"text/csv" and mount.read("f") == b"x"


def test_the_content_type_follows_from_the_name(mounted, bucket):
    mount = mounted()
    for name in ("a.html", "b.PNG", "c"):
        open(mount / name, "w").close()
    types = [bucket.s3.head_object(Bucket=bucket.name, Key=name)["ContentType"] for name in ("a.html", "b.PNG", "c")]
    assert types[:2] == ["text/html", "image/png"] and types[2] in ("binary/octet-stream", "application/octet-stream")


def test_a_sequence_of_small_files_costs_one_request_each(mounted, bucket):
    mount = mounted(options=["--metadata-ttl", "60"])
    os.mkdir(mount / "d")
    before = mount.status()["counters"]["requests"]
    for i in range(50):
        with open(mount / ("d/f%d" % i), "w") as file:
            file.write("x")
    after = mount.status()["counters"]["requests"]
    spent = {name: count - before.get(name, 0) for name, count in after.items() if count != before.get(name, 0)}
    assert spent.pop("PutObject") == 50 and sum(spent.values()) <= 4, spent


def test_removing_a_tree_does_not_list_it_again_and_again(mounted, bucket):
    mount = mounted({"d/s%d/f%d" % (i % 4, i): b"x" for i in range(200)}, options=["--metadata-ttl", "30"])
    before = mount.status()["counters"]["requests"]
    assert run(["rm", "-r", mount / "d"]).returncode == 0
    after = mount.status()["counters"]["requests"]
    spent = {name: count - before.get(name, 0) for name, count in after.items() if count != before.get(name, 0)}
    assert tops(bucket) == [] and os.listdir(mount.path) == []
    deletes = spent.pop("DeleteObject", 0) + spent.pop("DeleteObjects", 0)
    assert deletes <= 205 and sum(spent.values()) <= 20, spent


def test_what_copies_attributes_finds_only_those_that_were_set(mounted, tmp_path):
    mount = mounted({"f": b"x"})
    assert os.getxattr(mount / "f", "user.dipper.key") == b"f"
    os.setxattr(mount / "f", "user.color", b"blue")
    assert os.listxattr(mount / "f") == ["user.color"] and os.listxattr(mount.path) == []
    result = run(["cp", "-a", "--preserve=all", mount / "f", mount / "g"])
    assert result.returncode == 0 and result.stderr == "" and os.getxattr(mount / "g", "user.color") == b"blue"
    result = run(["rsync", "-aX", mount / "f", mount / "h"])
    assert result.returncode == 0 and result.stderr == "" and os.getxattr(mount / "h", "user.color") == b"blue"


def test_a_name_that_would_be_the_directorys_own_is_refused_for_a_file(mounted, bucket):
    mount = mounted({"d/f": b"x"})
    acts = [lambda: open(mount / "%dipper%", "wb"), lambda: os.rename(mount / "d/f", mount / "%dipper%")]
    if bucket.server == "moto":  # SeaweedFS takes `d//` for `d/`, so that there the name can't be looked up
        acts += [lambda: open(mount / "d/%dipper%", "wb"), lambda: os.rename(mount / "d/f", mount / "d/%dipper%")]
    for act in acts:
        with pytest.raises(OSError) as failure:
            act()
        assert failure.value.errno == errno.EINVAL
    assert keys(bucket) == ["d/f"] and mount.status()["unsaved"] == []
