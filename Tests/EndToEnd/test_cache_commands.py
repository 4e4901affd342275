"""`dipper warm`, `evict`, `map` and `doctor` on a real mount."""

import email.utils
import json
import os
import random
import signal
import subprocess
import time

from conftest import DIPPER, one_sentence, run, wait_for

MIB = 1 << 20
DATA = random.Random(7).randbytes(20 * MIB + 12345)


def size_cached(path):
    return int(os.getxattr(path, "user.dipper.size-cached"))


def dipper(*words, **facts):
    return run([DIPPER, *words], **facts)


def test_R6_a_warmed_file_is_read_without_the_store(weather_mount, proxy, strict_bucket):
    strict_bucket.put("d/big", DATA)
    mount = weather_mount().start()
    before = proxy.mark()
    result = dipper("warm", mount / "d/big")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("1 file in the cache, ") and " fetched in " in result.stdout
    assert proxy.body_bytes("d/big", since=before) == len(DATA), "each byte once"
    assert size_cached(mount / "d/big") == len(DATA)
    again = proxy.mark()
    assert "nothing had to be fetched" in dipper("warm", mount / "d/big").stdout
    assert proxy.body_bytes("d/big", since=again) == 0
    proxy.go_offline()
    assert mount.read("d/big") == DATA


def test_a_tree_is_warmed_and_every_failure_is_named(weather_mount, proxy, strict_bucket):
    names = ["t/%03d" % i for i in range(120)] + ["t/sub/deep/x", "t/sub/y"]
    for name in names:
        strict_bucket.put(name, name.encode() * 50)
    strict_bucket.put("t/refused", b"secret")
    proxy.rules.append({"method": "GET", "path": "t/refused", "status": 403,
                        "body": b"<Error><Code>AccessDenied</Code><Message>no</Message></Error>"})
    mount = weather_mount().start()
    result = dipper("warm", mount / "t", mount / "nothing", "/etc/hostname", "--progress")
    assert result.returncode == 1
    said = result.stderr.splitlines()
    for path, reason in [(mount / "t/refused", "AccessDenied"), (mount / "nothing", "No such file"),
                         ("/etc/hostname", "not in a mount of dipper")]:
        assert any(path in line and reason in line for line in said), result.stderr
    assert result.stdout.startswith("%d files in the cache" % len(names)), result.stdout
    assert "; 3 failed" in result.stdout
    assert any("files" in line and "%" in line for line in said), "the bar"
    for name in names:
        assert size_cached(mount / name) == len(name) * 50


def test_evict_frees_and_keeps_what_is_open(weather_mount, strict_bucket):
    for name in ["d/a", "d/b", "d/open"]:
        strict_bucket.put(name, DATA[: 2 * MIB])
    mount = weather_mount().start()
    assert dipper("warm", mount.path).returncode == 0
    used = mount.status()["cache"]["bytes"]
    assert used >= 6 * MIB
    with open(mount / "d/open", "rb") as file:
        assert file.read(1) == DATA[:1]
        result = dipper("evict", mount / "d")
        assert result.returncode == 1
        assert "d/open can't be evicted: it is open" in one_sentence(result.stderr)
        assert "freed, 2 files of 3; 1 failed" in result.stdout
    assert [size_cached(mount / ("d/" + n))
            for n in ["a", "b", "open"]] == [0, 0, 2 * MIB]
    assert mount.status()["cache"]["bytes"] <= used - 4 * MIB
    wait_for(lambda: dipper("evict", mount / "d/open").returncode == 0, "the file to be let go of")
    assert size_cached(mount / "d/open") == 0
    assert mount.read("d/a") == DATA[: 2 * MIB]


def test_map_draws_and_tells_ranges(weather_mount, strict_bucket):
    strict_bucket.put("f", DATA)
    mount = weather_mount(options=["--part-size", "1M"]).start()
    absent = dipper("map", mount / "f").stdout.splitlines()
    assert absent[0] == "." * 64 and "0 B of" in absent[2], absent
    with open(mount / "f", "rb", buffering=0) as file:
        file.read(4096)
    report = json.loads(dipper("map", "--json", mount / "f").stdout)
    assert report["key"] == "f" and report["size"] == len(DATA)
    assert 0 < report["cached_bytes"] < len(DATA)
    assert sum(r["length"] for r in report["ranges"]) == len(DATA)
    assert report["ranges"][0]["state"] in ("cached", "in_flight")
    assert dipper("warm", mount / "f").returncode == 0
    whole = dipper("map", mount / "f").stdout.splitlines()
    assert whole[0] == "#" * 64 and "(100 %)" in whole[2]
    assert "is a directory" in one_sentence(dipper("map", mount.path).stderr)


def test_ctrl_c_ends_the_warming_and_keeps_what_arrived(weather_mount, proxy, strict_bucket):
    strict_bucket.put("slow", DATA)
    proxy.rules.append({"method": "GET", "path": "slow", "rate": 2 * MIB})
    mount = weather_mount().start()
    os.stat(mount / "slow")
    process = subprocess.Popen([DIPPER, "warm", mount / "slow"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    wait_for(lambda: size_cached(mount / "slow") > 256 << 10, "something to arrive")
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130 and "stays in the cache" in said
    wait_for(lambda: not mount.status()["transfers"], "the daemon to stop")
    kept = size_cached(mount / "slow")
    assert 0 < kept < len(DATA)


def test_a_frozen_daemon_is_not_waited_for(weather_mount, strict_bucket):
    strict_bucket.put("f", b"x" * 1000)
    mount = weather_mount().start()
    pid = mount.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        for command in ["warm", "evict", "map"]:
            started = time.monotonic()
            result = dipper(command, mount / "f", timeout=40)
            assert result.returncode == 1
            assert "(pid %d) is not answering" % pid in one_sentence(result.stderr)
            assert time.monotonic() - started < 15
    finally:
        os.kill(pid, signal.SIGCONT)


def checks(*words, **facts):
    result = dipper("doctor", "--json", *words, **facts)
    report = json.loads(result.stdout)
    return result.returncode, {c["check"]: c for c in report["checks"]}, result.stdout + result.stderr


def test_doctor_finds_a_healthy_bucket_healthy(strict_bucket, tmp_path):
    strict_bucket.put("k", b"x")
    code, found, _ = checks(strict_bucket.url, "--endpoint", strict_bucket.endpoint,
                            "--cache-dir", str(tmp_path / "cache"))
    assert code == (1 if any(c["verdict"] == "failed" for c in found.values()) else 0)
    for name in ["FUSE device", "credentials", "endpoint", "region", "clock", "may list", "may head",
                 "may get", "cache directory"]:
        assert found[name]["verdict"] == "ok", found[name]
    assert not (tmp_path / "cache").exists(), "it only looks"


def test_doctor_says_what_is_wrong_and_no_secret(strict_bucket, proxy):
    strict_bucket.put("k", b"x")
    secret = "WRONGSECRET" + "a" * 30
    code, found, said = checks(strict_bucket.url, "--endpoint", strict_bucket.endpoint,
                               environment={"AWS_SECRET_ACCESS_KEY": secret})
    assert code == 1 and found["credentials"]["verdict"] == "failed" and found["credentials"]["advice"]
    assert secret not in said and os.environ["AWS_SECRET_ACCESS_KEY"] not in said
    code, found, _ = checks(strict_bucket.url, "--endpoint", "http://127.0.0.1:9")
    assert code == 1 and found["endpoint"]["verdict"] == "failed"
    late = email.utils.formatdate(time.time() + 3600, usegmt=True)
    proxy.rules.append({"rewrite": lambda s, h, b: (s, {**h, "date": late}, b)})
    code, found, _ = checks(strict_bucket.url, "--endpoint", proxy.url)
    assert code == 1 and found["clock"]["verdict"] == "failed" and "behind" in found["clock"]["message"]
