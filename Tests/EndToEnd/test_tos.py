"""tos:// buckets: mounted and read by ordinary tools, listed, downloaded; and what is said if they can't be."""

import hashlib
import json
import os
import random
import signal
import subprocess

import pytest

from conftest import DIPPER, is_mounted, one_sentence, run, wait_for
from tos_bucket import REGION, ask
from weather import Proxy

MIB = 1 << 20


def dipper(*command, **facts):
    return run([DIPPER, *command], **facts)


def test_a_mounted_bucket_is_read_by_ordinary_tools(tos_bucket, mounts):
    big = random.Random(5).randbytes(12 * MIB + 7)
    names = {"big": big, "d/one": b"1", "d/two words": b"2" * 5000, "d/e/f": b"", "a+b%20&=\u00fc": b"odd"}
    for name, body in names.items():
        tos_bucket.put(name, body)
    mount = mounts(tos_bucket.url, tos_bucket.endpoint).start()
    found = run(["find", ".", "-type", "f", "-size", "-100M"], cwd=mount.path).stdout.splitlines()
    assert sorted(found) == sorted("./" + name for name in names)
    assert run(["sha256sum", "big"], cwd=mount.path).stdout.split()[0] == hashlib.sha256(big).hexdigest()
    for name, body in names.items():
        assert mount.read(name) == body
        assert os.stat(mount / name).st_size == len(body)
    piece = subprocess.run(["dd", "if=" + mount / "big", "bs=1M", "skip=5", "count=2"], capture_output=True, check=True)
    assert piece.stdout == big[5 * MIB : 7 * MIB]
    state = mount.status()
    assert state["bucket"] == tos_bucket.url and state["errors"] == []
    assert mount.stop().returncode == 0 and not is_mounted(mount.path)


def test_a_hierarchical_bucket_is_mounted_with_its_empty_directories(tos_tree, mounts):
    tos_tree.put("d/e/file", b"x" * 100)
    tos_tree.put("empty/", b"")
    mount = mounts(tos_tree.url, tos_tree.endpoint).start()
    assert sorted(os.listdir(mount.path)) == ["d", "empty"]
    assert os.listdir(mount / "empty") == [] and mount.read("d/e/file") == b"x" * 100


def test_one_prefix_is_mounted_through_mount_helpers_options(tos_bucket, mounts, tmp_path):
    tos_bucket.put("p/q/k", b"x")
    tos_bucket.put("other", b"y")
    helper = tmp_path / "mount.dipper"
    helper.symlink_to(DIPPER)
    directory = tmp_path / "mnt"
    directory.mkdir()
    try:
        # As mount(8) calls it for a line of fstab.
        result = run([str(helper), tos_bucket.url + "/p", str(directory), "-o",
                      "ro,_netdev,endpoint=%s,region=%s,cache_dir=%s" % (tos_bucket.endpoint, REGION, tmp_path / "cache")])
        assert result.returncode == 0, result.stderr
        with open("/proc/self/mounts") as file:
            line = next(line.split() for line in file if line.split()[1] == str(directory))
        assert line[0] == tos_bucket.url + "/p" and line[2] == "fuse.dipper"
        assert os.listdir(directory) == ["q"] and (directory / "q/k").read_bytes() == b"x"
    finally:
        run([DIPPER, "unmount", str(directory)])


def test_ls_lists_a_level_or_all_with_facts(tos_bucket):
    for name in ("a", "d/one", "d/e/two", "d-x"):
        tos_bucket.put(name, b"12345")
    where = ["--endpoint", tos_bucket.endpoint]
    assert dipper("ls", tos_bucket.url, *where).stdout.splitlines() == ["a", "d-x", "d/"]
    assert dipper("ls", "-r", tos_bucket.url + "/d/", *where).stdout.splitlines() == ["d/e/two", "d/one"]
    entry = json.loads(dipper("ls", "--json", tos_bucket.url + "/a", *where).stdout.splitlines()[0])
    assert (entry["key"], entry["size"]) == ("a", 5)
    assert entry["etag"] == hashlib.md5(b"12345").hexdigest()


def test_get_goes_on_where_it_was_stopped(tos_bucket, tmp_path):
    data = random.Random(6).randbytes(24 * MIB)
    tos_bucket.put("f", data)
    proxy = Proxy(tos_bucket.endpoint)
    target = tmp_path / "f"
    command = [DIPPER, "get", tos_bucket.url + "/f", str(target), "--endpoint", proxy.url, "--part-size", "5M"]
    try:
        proxy.rules = [{"method": "GET", "path": "/f", "rate": 4 * MIB}]
        task = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: proxy.body_bytes("/f") > 8 * MIB, "some of it to arrive")
        task.send_signal(signal.SIGINT)
        _, errors = task.communicate(timeout=30)
        assert task.returncode == 130 and "same command" in errors, errors
        assert not target.exists()
        proxy.rules = []
        assert run(command).returncode == 0
        assert hashlib.sha256(target.read_bytes()).digest() == hashlib.sha256(data).digest()
        assert proxy.body_bytes("/f") < len(data) + 10 * MIB, "all was fetched again"
        assert sorted(os.listdir(tmp_path)) == ["f"]
    finally:
        proxy.close()


def test_a_wrong_secret_is_one_sentence_with_the_stores_code_and_id(tos_bucket, mounts):
    wrong = {"TOS_SECRET_KEY": "wrong"}
    listed = dipper("ls", tos_bucket.url, "--endpoint", tos_bucket.endpoint, environment=wrong)
    sentence = one_sentence(listed.stderr)
    assert listed.returncode == 1 and "SignatureDoesNotMatch" in sentence and "request" in sentence, sentence
    mount = mounts(tos_bucket.url, tos_bucket.endpoint, environment=wrong)
    result = mount.try_start()
    assert result.returncode == 1 and "SignatureDoesNotMatch" in one_sentence(result.stderr)
    assert not is_mounted(mount.path)
    report = json.loads(dipper("doctor", tos_bucket.url, "--endpoint", tos_bucket.endpoint, "--json",
                               environment=wrong).stdout)
    found = {check["check"]: check for check in report["checks"]}
    assert found["credentials"]["verdict"] == "failed" and found["endpoint"]["verdict"] == "ok"
    assert "SignatureDoesNotMatch" in found["credentials"]["message"]


def test_an_unknown_bucket_or_key_is_told(tos_bucket, tmp_path):
    where = ["--endpoint", tos_bucket.endpoint]
    none = dipper("ls", "tos://no-such-bucket-here", *where)
    assert none.returncode == 1 and "NoSuchBucket" in one_sentence(none.stderr)
    missing = dipper("get", tos_bucket.url + "/none", str(tmp_path / "none"), *where)
    assert missing.returncode == 1 and "none" in one_sentence(missing.stderr) and not os.listdir(tmp_path)


def test_a_wrong_region_is_told(tos_bucket):
    result = dipper("ls", tos_bucket.url, "--endpoint", tos_bucket.endpoint, "--region", "cn-nowhere")
    sentence = one_sentence(result.stderr)
    assert result.returncode == 1 and "region" in sentence and REGION in sentence, sentence


@pytest.mark.parametrize("options,words", [
    ([], "nothing says where this TOS bucket is; give --region (such as cn-beijing) or --endpoint"),
    (["--endpoint", "https://tos-s3-cn-beijing.volces.com"], "use tos-cn-beijing.volces.com for tos://"),
    (["--endpoint", "tos-cn-beijing.volces.com", "--region", "cn-shanghai"], "leave one of them out"),
    (["--region", "cn beijing"], "can't be the name of a region"),
    (["--custom-domain", "--region", "cn-beijing"], "--custom-domain needs the domain"),
])
def test_a_place_that_cannot_be_is_one_sentence(tmp_path, options, words):
    result = dipper("ls", "tos://data", *options, environment={"TOS_REGION": None, "HOME": str(tmp_path)})
    assert result.returncode != 0 and words in one_sentence(result.stderr)
    named = dipper("ls", "tos://My_Bucket", "--region", "cn-beijing")
    assert named.returncode != 0 and "can't be the name of a TOS bucket" in one_sentence(named.stderr)


def test_a_public_bucket_is_read_without_a_signature(make_tos_bucket, mounts):
    public, private = make_tos_bucket("moto", acl="public-read"), make_tos_bucket("moto")
    for bucket in (public, private):
        bucket.put("k", b"x")
    proxy = Proxy(public.endpoint)
    try:
        mount = mounts(public.url, proxy.url, options=["--anonymous"],
                       environment={"TOS_SECURITY_TOKEN": "t", "TOS_REGION": None}).start()
        assert mount.read("k") == b"x" and os.listdir(mount.path) == ["k"]
        assert proxy.log
        for request in proxy.log:
            names = set(request["headers"])
            assert not names & {"authorization", "x-tos-date", "x-tos-security-token"}, names
    finally:
        proxy.close()
    refused = dipper("ls", private.url, "--endpoint", private.endpoint, "--anonymous")
    assert refused.returncode == 1 and "AccessDenied" in one_sentence(refused.stderr)


def test_the_bucket_is_in_the_host_of_the_services_own_endpoint(tos_bucket):
    """The gateway is the HTTP proxy for the vendor's names, and refuses a bucket in the path as the service does."""
    tos_bucket.put("d/k", b"x")
    through = {"http_proxy": tos_bucket.endpoint, "NO_PROXY": None, "no_proxy": None, "TOS_REGION": None}
    endpoint = "http://tos-%s.volces.com" % REGION
    found = dipper("ls", "-r", tos_bucket.url, "--endpoint", endpoint, environment=through)
    assert (found.returncode, found.stdout) == (0, "d/k\n"), found.stderr
    with_bucket = endpoint.replace("//", "//%s." % tos_bucket.name)
    assert dipper("ls", "-r", tos_bucket.url, "--endpoint", with_bucket, environment=through).stdout == "d/k\n"
    path = dipper("ls", tos_bucket.url, "--endpoint", endpoint, "--path-style", environment=through)
    assert path.returncode == 1 and "InvalidPathAccess" in one_sentence(path.stderr)


def test_doctor_finds_a_healthy_bucket_healthy(tos_bucket):
    tos_bucket.put("k", b"x")
    result = dipper("doctor", tos_bucket.url, "--endpoint", tos_bucket.endpoint, "--json")
    found = {check["check"]: check for check in json.loads(result.stdout)["checks"]}
    assert [found[name]["verdict"] for name in ("credentials", "endpoint", "region", "clock", "may list", "may head",
                                               "may get")] == ["ok"] * 7, found
    assert "TOS_ACCESS_KEY" in found["credentials"]["message"] and found["region"]["message"] == REGION
    ask(tos_bucket.endpoint, "PUT", "keys/LIMITED", {"secret": "s", "denied": ["GetObject"]})
    result = dipper("doctor", tos_bucket.url, "--endpoint", tos_bucket.endpoint, "--json",
                    environment={"TOS_ACCESS_KEY": "LIMITED", "TOS_SECRET_KEY": "s"})
    found = {check["check"]: check for check in json.loads(result.stdout)["checks"]}
    assert found["may get"]["verdict"] == "failed" and "tos:GetObject" in found["may get"]["advice"]
