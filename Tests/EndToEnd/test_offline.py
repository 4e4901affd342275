"""A mount that is offline: what the cache has is shown and read, and no request leaves."""

import errno
import os
import random
import time

import pytest

from conftest import one_sentence

MIB = 1 << 20


def test_R6_offline_shows_and_reads_what_the_cache_has(weather_mount, proxy, strict_bucket):
    data = random.Random(5).randbytes(16 * MIB)
    strict_bucket.put("dir/whole", data[: 2 * MIB])
    strict_bucket.put("part", data)
    strict_bucket.put("never", b"read")
    mount = weather_mount().start()
    assert mount.read("dir/whole") == data[: 2 * MIB]
    file = os.open(mount / "part", os.O_RDONLY)
    assert os.pread(file, 4096, 0) == data[:4096]
    os.close(file)
    assert mount.stop().returncode == 0
    before = proxy.mark()  # the bucket is there, and could be asked
    mount.options.append("--offline")
    mount.start()
    assert sorted(os.listdir(mount.path)) == ["dir", "part"]
    assert os.listdir(mount / "dir") == ["whole"]
    assert os.stat(mount / "part").st_size == len(data)
    assert mount.read("dir/whole") == data[: 2 * MIB]
    file = os.open(mount / "part", os.O_RDONLY)
    assert os.pread(file, 4096, 0) == data[:4096]
    started = time.monotonic()
    with pytest.raises(OSError) as failure:
        os.pread(file, 4096, 12 * MIB)
    assert failure.value.errno == errno.EHOSTUNREACH
    assert time.monotonic() - started < 5, "it waited for the store"
    os.close(file)
    with pytest.raises(FileNotFoundError):
        os.stat(mount / "never")
    assert b"offline" in os.getxattr(mount / "part", "user.dipper.last-error")
    assert proxy.requests(since=before) == []
    # Back online, the rest is there.
    assert mount.stop().returncode == 0
    mount.options.remove("--offline")
    mount.start()
    assert mount.read("part") == data
    assert mount.read("never") == b"read"


def test_an_offline_mount_with_nothing_to_show_says_so(weather_mount, proxy, strict_bucket, mounts):
    strict_bucket.put("dir/f", b"text")
    strict_bucket.put("dirty", b"text")
    mount = weather_mount().start()
    assert mount.read("dirty") == b"text"
    assert mount.stop().returncode == 0
    before = proxy.mark()

    def warning(url, cache):
        offline = mounts(url, proxy.url, cache=cache, options=["--offline"])
        result = offline.try_start()
        assert result.returncode == 0, result
        assert offline.stop().returncode == 0
        return result.stderr

    empty = one_sentence(warning(strict_bucket.url, mount.cache + ".empty"))
    assert mount.cache + ".empty" in empty and strict_bucket.url in empty and "offline" in empty
    assert warning(strict_bucket.url, mount.cache) == ""
    # What is below the prefix counts, and not what begins like it.
    assert 'below "dir/"' in one_sentence(warning(strict_bucket.url + "/dir", mount.cache))
    assert proxy.requests(since=before) == []
