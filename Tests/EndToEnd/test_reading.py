"""Reading through a real mount with ordinary tools. Test names carry the clause of docs/semantics.md."""

import hashlib
import mmap
import os
import random
import subprocess
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import TTL, run, wait_for
from weather import Proxy

MIB = 1 << 20


def sha256(data):
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def mounted(bucket, mounts):
    def make(objects, **facts):
        for key, body in objects.items():
            bucket.put(key, body)
        return mounts(bucket.url, bucket.endpoint, **facts).start()

    return make


def test_the_tools_read_what_was_stored(mounted, tmp_path):
    data = random.Random(1).randbytes(20 * MIB + 12345)
    mount = mounted({"big.bin": data, "dir/sub/a.txt": b"hello\nneedle\n", "dir/b.txt": b"other\n"})
    assert run(["sha256sum", mount / "big.bin"]).stdout.split()[0] == sha256(data)
    assert subprocess.run(["cat", mount / "big.bin"], capture_output=True).stdout == data
    assert subprocess.run(["tail", "-c", "1000001", mount / "big.bin"], capture_output=True).stdout == data[-1000001:]
    out = tmp_path / "out"
    assert run(["cp", mount / "big.bin", out]).returncode == 0
    assert out.read_bytes() == data
    found = run(["grep", "-r", "needle", mount.path]).stdout
    assert found == "%s:needle\n" % (mount / "dir/sub/a.txt")
    names = sorted(run(["find", mount.path, "-type", "f", "-printf", "%P %s\n"]).stdout.splitlines())
    assert names == sorted(["big.bin %d" % len(data), "dir/sub/a.txt 13", "dir/b.txt 6"])
    assert run(["diff", "-r", mount / "dir", mount / "dir"]).returncode == 0


@pytest.mark.parametrize("block", [1, 511, 4096, 99991, 1 << 20, 3 * MIB + 1])
def test_dd_with_odd_blocks(mounted, block):
    size = 4 * MIB + 321 if block > 1000 else 70000
    data = random.Random(block).randbytes(size)
    mount = mounted({"f": data})
    assert subprocess.run(["dd", "if=" + (mount / "f"), "bs=%d" % block, "status=none"],
                          capture_output=True).stdout == data
    assert subprocess.run(["dd", "if=" + (mount / "f"), "bs=%d" % block, "skip=1", "count=2", "status=none"],
                          capture_output=True).stdout == data[block : 3 * block]


def test_archives_read_in_place(mounted, tmp_path):
    source = tmp_path / "src"
    source.mkdir()
    files = {"f%03d" % i: random.Random(i).randbytes(1000 * i) for i in range(60)}
    for name, body in files.items():
        (source / name).write_bytes(body)
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zip_file:
        for name in files:
            zip_file.write(source / name, name)
    subprocess.run(["tar", "cf", tmp_path / "a.tar", "-C", source, "."], check=True)
    mount = mounted({"a.zip": archive.read_bytes(), "a.tar": (tmp_path / "a.tar").read_bytes()})
    out = tmp_path / "out"
    out.mkdir()
    assert run(["unzip", "-q", mount / "a.zip", "-d", out]).returncode == 0
    assert run(["diff", "-r", source, out]).returncode == 0
    with zipfile.ZipFile(mount / "a.zip") as zip_file:
        assert zip_file.read("f059") == files["f059"]
    assert run(["tar", "df", mount / "a.tar", "-C", str(source)]).returncode == 0


def test_mmap_and_sendfile_see_the_same_bytes(mounted):
    data = random.Random(3).randbytes(3 * MIB + 123)
    mount = mounted({"m": data})
    with open(mount / "m", "rb") as file:
        for flags in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            with mmap.mmap(file.fileno(), 0, flags=flags, prot=mmap.PROT_READ) as view:
                assert view[:] == data
        sink = os.memfd_create("sink")
        done = 0
        while done < len(data):
            done += os.sendfile(sink, file.fileno(), done, MIB)
        assert os.pread(sink, len(data), 0) == data


def test_empty_objects_and_reads_past_the_end(mounted):
    data = random.Random(4).randbytes(1000)
    mount = mounted({"f": data, "empty": b""})
    file = os.open(mount / "f", os.O_RDONLY)
    assert [os.pread(file, 100, at) for at in (1000, 5000, 1 << 40)] == [b"", b"", b""]
    assert os.pread(file, 100, 990) == data[990:]
    os.close(file)
    assert mount.read("empty") == b"" and os.stat(mount / "empty").st_size == 0


def test_st_blocks_are_full(mounted):
    mount = mounted({"f": b"x" * 100001})
    status = os.stat(mount / "f")
    assert status.st_blocks * 512 >= status.st_size


def test_R1_a_replaced_object_never_mixes(weather_mount, strict_bucket):
    old, new = b"a" * (40 * MIB), b"b" * (40 * MIB)
    strict_bucket.put("f", old)
    mount = weather_mount().start()
    with open(mount / "f", "rb", buffering=0) as file:
        assert file.read(1000) == b"a" * 1000
        strict_bucket.put("f", new)
        seen = b""
        error = None
        try:
            while piece := file.read(MIB):
                seen += piece
        except OSError as failure:
            error = failure.errno
        assert set(seen) <= {ord("a")}, "bytes of two versions"
        assert error == 116, "no ESTALE: %s" % error
    time.sleep(TTL + 0.5)
    assert set(mount.read("f")) == {ord("b")}


@pytest.mark.parametrize("size", [300000, 100, 5 * MIB])
def test_R1_the_next_open_sees_the_new_version(mounted, bucket, size):
    mount = mounted({"f": b"A" * 300000})
    assert set(mount.read("f")) == {ord("A")}
    bucket.put("f", b"B" * size)
    time.sleep(TTL + 0.5)
    assert mount.read("f") == b"B" * size
    assert os.stat(mount / "f").st_size == size


def test_R1_a_deleted_object_is_gone(mounted, bucket):
    mount = mounted({"f": b"A" * 1000, "g": b""})
    assert mount.read("f") == b"A" * 1000
    bucket.delete("f")
    time.sleep(TTL + 0.5)
    with pytest.raises(FileNotFoundError):
        open(mount / "f")
    assert os.listdir(mount.path) == ["g"]


def test_R1_tail_follows_a_growing_object(mounted, bucket):
    mount = mounted({"log": b"1\n" * 1000})
    tail = subprocess.Popen(["tail", "-n0", "-F", "-s", "0.2", mount / "log"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: os.path.exists("/proc/%d/fd/3" % tail.pid), "tail to open the file")
        time.sleep(0.5)
        bucket.put("log", b"1\n" * 1000 + b"END\n")
        seen = b""
        os.set_blocking(tail.stdout.fileno(), False)

        def ended():
            nonlocal seen
            seen += tail.stdout.read() or b""
            return b"END" in seen

        wait_for(ended, "tail to print the new line")
    finally:
        tail.kill()
        tail.wait()


def test_R2_a_small_random_read_costs_one_small_request(weather_mount, proxy, strict_bucket):
    size = 10 << 30
    tag = strict_bucket.put("huge", b"x")
    proxy.rules = [{"path": "/huge$", "virtual": size, "etag": tag},
                   {"query": "list-type", "rewrite": lambda s, h, b: (s, h, b.replace(b"<Size>1<", b"<Size>%d<" % size))}]
    mount = weather_mount().start()
    from weather import words

    file = os.open(mount / "huge", os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    places = random.Random(5)
    for _ in range(20):
        at = places.randrange(0, size - 4096) & ~4095
        before = proxy.mark()
        assert os.pread(file, 4096, at) == words(at, 4096)
        requests = proxy.requests("GET", "/huge", before)
        assert len(requests) == 1, requests
        assert requests[0]["sent"] <= 128 << 10
    os.close(file)


def test_R3_a_reader_does_not_wait_for_the_end_of_the_part(weather_mount, proxy, strict_bucket):
    data = random.Random(6).randbytes(16 * MIB)
    strict_bucket.put("f", data)
    mount = weather_mount().start()
    proxy.rules = [{"method": "GET", "path": "/f$", "rate": 256 << 10}]
    begin = time.monotonic()
    with open(mount / "f", "rb", buffering=0) as file:
        assert file.read(4096) == data[:4096]
    assert time.monotonic() - begin < 5, "waited for more than its own bytes"


def test_lookups_in_one_directory_run_in_parallel(weather_mount, proxy, strict_bucket):
    for i in range(8):
        strict_bucket.put("d/f%d" % i, b"x")
    mount = weather_mount().start()
    os.stat(mount / "d")
    proxy.rules = [{"delay": 0.2}]
    threads = [threading.Thread(target=os.stat, args=(mount / ("d/f%d" % i),)) for i in range(8)]
    begin = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - begin < 0.5


@pytest.mark.parametrize("rate", [None, 2 * MIB, MIB // 2])
def test_R2_a_sequential_read_asks_for_each_byte_once(weather_mount, proxy, strict_bucket, rate):
    """However slow the line is: the kernel reads up to 4 MiB ahead, and nothing is gained by a second request."""
    data = random.Random(8).randbytes((64 if rate is None else 24) * MIB + 12345)
    strict_bucket.put("f", data)
    mount = weather_mount().start()
    if rate:
        proxy.rules = [{"query": "^$", "rate": rate}]
    assert run(["sha256sum", mount / "f"]).stdout[:64] == sha256(data)
    wanted = proxy.wanted("/f")
    assert [sent for first, end, sent in wanted if sent < end - first] == [], wanted
    assert sum(end - first for first, end, _ in wanted) == len(data), wanted
    assert mount.status()["counters"]["bytes_received"] == len(data)


def test_eight_readers_share_what_is_fetched(weather_mount, proxy, strict_bucket):
    data = random.Random(7).randbytes(32 * MIB)
    strict_bucket.put("f", data)
    mount = weather_mount().start()
    readers = [subprocess.Popen(["sha256sum", mount / "f"], stdout=subprocess.PIPE, text=True) for _ in range(8)]
    assert {r.communicate(timeout=100)[0][:64] for r in readers} == {sha256(data)}
    # Every byte is asked for once, and no request is ended before its end.
    wanted = proxy.wanted("/f")
    assert all(end == begin for (_, end, _), (begin, _, _) in zip(wanted, wanted[1:])), wanted
    assert all(sent == end - begin for begin, end, sent in wanted), wanted
    assert proxy.body_bytes("/f") == len(data)


def test_eight_readers_of_eight_places_share_what_is_fetched(weather_mount, proxy, strict_bucket):
    data = random.Random(8).randbytes(64 * MIB)
    strict_bucket.put("f", data)
    mount = weather_mount().start()
    failures = []

    def read_all(start):
        with open(mount / "f", "rb", buffering=0) as file:
            seen = b""
            for begin, end in ((start, len(data)), (0, start)):
                file.seek(begin)
                while begin < end:
                    piece = file.read(min(MIB // 2, end - begin))
                    seen += piece
                    begin += len(piece)
            if seen != data[start:] + data[:start]:
                failures.append(start)

    readers = [threading.Thread(target=read_all, args=(i * 8 * MIB,)) for i in range(8)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert failures == []
    # Where one reader comes to what another has fetched ahead, a request may be ended for it: once for
    # each reader and each of its two ends.
    in_sockets = proxy.body_bytes("/f") - len(data)
    assert in_sockets <= 16 * MIB, proxy.wanted("/f")


def test_N3_inode_numbers_survive_a_remount(mounted):
    mount = mounted({"a/b/c": b"x", "d": b"y"})
    first = {name: os.stat(mount / name).st_ino for name in ("", "a", "a/b", "a/b/c", "d")}
    assert len(set(first.values())) == 5
    assert mount.stop().returncode == 0
    mount.start()
    assert {name: os.stat(mount / name).st_ino for name in first} == first


def test_N5_one_listing_answers_the_lookups_below_it(weather_mount, proxy, strict_bucket):
    for i in range(50):
        strict_bucket.put("d/f%02d" % i, b"x" * i)
    mount = weather_mount(options=["--metadata-ttl", "60"]).start()
    assert len(os.listdir(mount / "d")) == 50
    before = proxy.mark()
    for i in range(50):
        assert os.stat(mount / ("d/f%02d" % i)).st_size == i
        assert not os.path.exists(mount / ("d/no%02d" % i))
    assert proxy.log[before:] == []


def test_first_byte_of_a_listed_file_costs_one_request(weather_mount, proxy, strict_bucket):
    strict_bucket.put("d/f", b"x" * 1000)
    mount = weather_mount(options=["--metadata-ttl", "60"]).start()
    os.listdir(mount / "d")
    before = proxy.mark()
    assert mount.read("d/f") == b"x" * 1000
    assert [r["method"] for r in proxy.log[before:]] == ["GET"]


@pytest.mark.parametrize("reader", ["cat d/*", "tar cf - d | cat", "grep -r no-such-text d; true"])
def test_R2_small_files_read_in_order_cost_one_request_each(weather_mount, proxy, strict_bucket, reader):
    for i in range(150):
        strict_bucket.put("d/f%03d" % i, b"%d " % i * 1000)
    mount = weather_mount(options=["--metadata-ttl", "60"]).start()
    assert len(os.listdir(mount / "d")) == 150
    before = proxy.mark()
    assert subprocess.run(["sh", "-c", reader], cwd=mount.path, stdout=subprocess.DEVNULL).returncode == 0
    requests = proxy.log[before:]
    assert {r["method"] for r in requests if "list-type" not in r["query"]} == {"GET"}
    assert sorted(r["path"] for r in requests if r["path"].endswith(tuple("0123456789"))) == [
        "/%s/d/f%03d" % (strict_bucket.name, i) for i in range(150)]


def test_R2_small_files_are_fetched_ahead_of_their_reader(weather_mount, proxy, strict_bucket):
    for i in range(150):
        strict_bucket.put("d/f%03d" % i, b"%d " % i * 1000)
    mount = weather_mount(options=["--metadata-ttl", "60"]).start()
    names = sorted(os.listdir(mount / "d"))
    before = proxy.mark()
    for name in names[:20]:
        assert mount.read("d/" + name) == b"%d " % int(name[1:]) * 1000
    wait_for(lambda: len(proxy.requests("GET", "/d/", before)) >= 20 + 40, "files ahead")
    # The reader has stopped: no more than the window is fetched for it.
    assert len(proxy.requests("GET", "/d/", before)) <= 20 + 64


def test_large_directories_are_complete(mounted, bucket):
    from concurrent.futures import ThreadPoolExecutor

    names = {"k=%05d+%%20\u00e9" % i for i in range(2503)} | {"a-b"}
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda name: bucket.put("c/" + name, b""), names))
        list(pool.map(lambda name: bucket.put("c/%s/child" % name, b""), ("a", "a.b", "ab")))
    mount = mounted({})
    listed = os.listdir(mount / "c")
    assert len(listed) == len(set(listed))
    assert set(listed) == names | {"a", "a.b", "ab"}
    lines = run(["ls", "-l", mount / "c"]).stdout.splitlines()
    assert len(lines) == len(names) + 4


def test_a_prefix_is_mounted_alone(bucket, mounts):
    bucket.put("in/a", b"1")
    bucket.put("in/sub/b", b"2")
    bucket.put("inside", b"3")
    mount = mounts(bucket.url + "/in", bucket.endpoint).start()
    assert sorted(os.listdir(mount.path)) == ["a", "sub"]
    assert mount.read("sub/b") == b"2"


def test_N1_odd_keys_do_not_break_their_neighbours(bucket, mounts):
    good = {"plain", "with space", "plus+and%25", "\u00fc\u00f1\u4e2d", "quote'\"", "#?&=", "emoji\U0001f600"}
    for name in good:
        bucket.put("d/" + name, name.encode())
    for odd in ("d//x", "d/./y", "d/../z", "d/" + "n" * 300, "d/\x01", "d/new\nline"):
        try:
            bucket.put(odd, b"odd")
        except Exception:
            pass  # this server can't hold that key
    mount = mounts(bucket.url, bucket.endpoint).start()
    listed = set(os.listdir(mount / "d"))
    assert good <= listed
    for name in good:
        assert mount.read("d/" + name) == name.encode()


def test_N1_a_file_beside_a_directory(bucket, mounts):
    bucket.put("x", b"file")
    bucket.put("x/y", b"child")
    mount = mounts(bucket.url, bucket.endpoint).start()
    names = os.listdir(mount.path)
    assert names.count("x") == 1 and os.path.isdir(mount / "x")
    assert mount.read("x/y") == b"child"
    other = [name for name in names if name != "x"]
    assert len(other) == 1 and mount.read(other[0]) == b"file"


def test_a_marker_is_a_directory(bucket, mounts):
    bucket.put("lone/", b"")
    bucket.put("both/", b"")
    bucket.put("both/kid", b"k")
    mount = mounts(bucket.url, bucket.endpoint).start()
    assert os.listdir(mount / "lone") == []
    assert os.listdir(mount / "both") == ["kid"]


def test_two_looks_at_a_quiet_tree_agree(mounted, tmp_path):
    mount = mounted({"t/d%d/f%d" % (i % 5, i): os.urandom(1500) for i in range(50)})
    script = "cd %s && tar cf %s/x.tar t && sleep 2 && tar df %s/x.tar" % (mount.path, tmp_path, tmp_path)
    result = run(["sh", "-c", script])
    assert result.returncode == 0 and result.stderr == "" and result.stdout == "", result


def test_extended_attributes_tell_the_key_and_the_tag(mounted, bucket):
    mount = mounted({"a/b": b"12345"})
    assert os.getxattr(mount / "a/b", "user.dipper.key") == b"a/b"
    tag = bucket.s3.head_object(Bucket=bucket.name, Key="a/b")["ETag"].strip('"')
    assert os.getxattr(mount / "a/b", "user.dipper.etag").strip(b'"') == tag.encode()
    mount.read("a/b")
    assert os.getxattr(mount / "a/b", "user.dipper.size-cached") == b"5"


def test_N5_a_large_directory_is_listed_whole_in_several_places_at_once(bucket, mounts):
    """Every name once: of numbers, words, directories among files, and a file beside its directory."""
    random_names = random.Random(5)
    keys = ["d/00-frame-%06d.exr" % (3 * n) for n in range(2200)]
    keys += ["d/%x/part" % random_names.getrandbits(40) for _ in range(300)]
    keys += ["d/" + "".join(random_names.choices("abcxyz -+%", k=9)).strip() for _ in range(300)]
    keys += ["d/00-frame-000300.exr/below", "d/zz\u00e9", "d/zz"]
    keys = sorted(set(keys))
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(bucket.put, keys))
    proxy = Proxy(bucket.endpoint)
    try:
        # A store at some distance: from one that answers at once, a listing is asked for page by page.
        proxy.rules = [{"delay": 0.02}]
        mount = mounts(bucket.url, proxy.url).start()
        names = os.listdir(mount / "d")
        expected = {key.split("/")[1] for key in keys} | {"%dipper-object%00-frame-000300.exr"}
        assert len(names) == len(set(names)) and set(names) == expected
        lists = mount.status()["counters"]["requests"]["ListObjects"]
        assert any("start-after" in request["query"] for request in proxy.requests("GET"))
        # Pages of 1,000, as many again that a guess may cost, and the look at the mount's root.
        assert lists <= len(expected) // 1000 + 1 + 8 + 4
    finally:
        proxy.close()
