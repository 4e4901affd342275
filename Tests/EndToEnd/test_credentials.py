"""Where credentials come from, and that nobody notices when they change."""

import errno
import gzip
import os
import random
import socket
import stat
import sys
import time

import pytest

from conftest import alive, DIPPER, SERVERS, Bucket, one_sentence, run, wait_for
from credential_services import CredentialServer, Gatekeeper

NOTHING = {name: None for name in os.environ if name.startswith("AWS_")}


@pytest.fixture
def services():
    services = CredentialServer()
    yield services
    services.close()


@pytest.fixture
def door(services):
    """The server that checks nothing, behind a door that checks the token."""
    bucket = Bucket("moto", SERVERS["moto"])
    door = Gatekeeper(bucket.endpoint, services)
    door.bucket = bucket
    yield door
    door.close()
    bucket.clear()


def program(path, text):
    path.write_text("#!%s\n%s" % (sys.executable, text))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def environment(kind, services, home):
    """What a machine of this kind has in its environment and files."""
    home.mkdir(exist_ok=True)
    base = {**NOTHING, "HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1"}
    token = home / "token"
    token.write_text("web." + services.agent_token + "\n")
    config = home / "config"
    if kind == "instance":
        return {**base, "AWS_EC2_METADATA_DISABLED": None, "AWS_EC2_METADATA_SERVICE_ENDPOINT": services.url}
    if kind == "container":
        return {**base, "AWS_CONTAINER_CREDENTIALS_FULL_URI": services.url + "/container",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN": services.agent_token}
    if kind == "web identity":
        return {**base, "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_WEB_IDENTITY_TOKEN_FILE": str(token),
                "AWS_ENDPOINT_URL_STS": services.url}
    if kind == "profile with a web identity":
        config.write_text("[profile w]\nrole_arn = arn:aws:iam::1:role/r\nweb_identity_token_file = %s\n" % token)
        return {**base, "AWS_CONFIG_FILE": str(config), "AWS_PROFILE": "w", "AWS_ENDPOINT_URL_STS": services.url}
    ask = program(home / "ask", (
        "import json, urllib.request\n"
        "request = urllib.request.Request(%r, headers={'authorization': %r})\n"
        "print(json.dumps({**json.load(urllib.request.urlopen(request)), 'Version': 1}))\n"
    ) % (services.url + "/container", services.agent_token))
    config.write_text("[profile p]\ncredential_process = %s 'with \"words\"'\n" % ask)
    return {**base, "AWS_CONFIG_FILE": str(config), "AWS_PROFILE": "p"}


def no_secret_is_in_sight(mount, services):
    texts = {"the log": mount.log(), "the status": run([DIPPER, "status", "--json"]).stdout}
    with open("/proc/%d/cmdline" % mount.pid) as file:
        texts["the command line"] = file.read()
    for root, _, names in os.walk(mount.cache):
        for name in names:
            with open(os.path.join(root, name), "rb") as file:
                texts[name] = file.read().decode("latin-1")
    for where, text in texts.items():
        for secret in services.secrets + [services.agent_token, services.session_token]:
            assert secret not in text, where


@pytest.mark.parametrize("kind", ["instance", "container", "web identity", "profile with a web identity", "program"])
def test_credentials_that_end_in_seconds_are_renewed_unnoticed(services, door, mounts, tmp_path, kind):
    for index in range(400):
        door.bucket.put("d/%d" % index, b"%d" % index * 1000)
    mount = mounts(door.bucket.url, door.url, environment=environment(kind, services, tmp_path / "home"),
                   options=["--log-level", "debug"]).start()
    os.listdir(mount / "d")
    for index in range(400):
        assert mount.read("d/%d" % index) == b"%d" % index * 1000
        if len(services.issued) >= 3:
            break
        time.sleep(0.05)
    assert len(services.issued) >= 3, "they were never renewed"
    no_secret_is_in_sight(mount, services)


def test_a_service_that_stays_down_is_told_with_the_time_and_the_source(services, door, mounts, tmp_path):
    for index in range(100):
        door.bucket.put("d/%d" % index, b"x")
    mount = mounts(door.bucket.url, door.url, environment=environment("container", services, tmp_path / "home")).start()
    os.listdir(mount / "d")
    services.is_down = True
    wait_for(lambda: not any(map(services.is_good, services.issued)), "the credentials to end")
    with pytest.raises(OSError) as failure:
        for index in range(100):
            mount.read("d/%d" % index)
    assert failure.value.errno == errno.EACCES
    told = mount.status()["errors"][-1]["message"]
    assert "the credentials expired at 20" in told and "container" in told and "agent" in told, told
    services.is_down = False
    time.sleep(1.1)
    assert mount.read("d/99") == b"x"
    no_secret_is_in_sight(mount, services)


def test_a_machine_in_no_cloud_learns_it_soon(mounts, bucket, tmp_path):
    silent = socket.create_server(("127.0.0.1", 0))
    try:
        mount = mounts(bucket.url, bucket.endpoint, environment={
            **NOTHING, "HOME": str(tmp_path),
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:%d" % silent.getsockname()[1]})
        begin = time.monotonic()
        result = mount.try_start()
        took = time.monotonic() - begin
        sentence = one_sentence(result.stderr)
        assert result.returncode == 1
        for place in ("no credentials found", "AWS_ACCESS_KEY_ID", ".aws/credentials", "web identity", "container",
                      "instance metadata"):
            assert place in sentence, sentence
        assert took < 5, took
    finally:
        silent.close()


def test_services_of_the_machine_are_asked_past_the_proxy(door, mounts, tmp_path):
    services = door.services = CredentialServer(lifetime=600, host="127.0.0.2")
    try:
        door.bucket.put("f", b"x")
        facts = environment("instance", services, tmp_path / "home")
        dead = {"http_proxy": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        mount = mounts(door.bucket.url, door.url, environment={**facts, **dead}).start()
        assert mount.read("f") == b"x"
    finally:
        services.close()


@pytest.mark.parametrize("text,words", [
    ("import sys; sys.stderr.write('no session, key wJalrXUtnFEMI7MDENGbPxRfiCYEXAMPLE\\n'); sys.exit(3)", "code 3: no session"),
    ("print('{}')", "Version 1"), ("print('x' * 1000000)", "more than"),
    ("print('{\"Version\": 1, \"AccessKeyId\": \"A\", \"SecretAccessKey\": \"wJalrXUtnFEMI7MDENGbPxRfiCYEXAMPLE\", "
     "\"Expiration\": \"2020-01-01T00:00:00Z\"}')", "expired at 2020-01-01"),
], ids=["fails", "empty", "floods", "expired"])
def test_a_program_that_fails_is_told_without_its_secrets(bucket, mounts, tmp_path, text, words):
    ask = program(tmp_path / "ask", text + "\n")
    (tmp_path / "config").write_text("[default]\ncredential_process = %s\n" % ask)
    mount = mounts(bucket.url, bucket.endpoint, environment={
        **NOTHING, "HOME": str(tmp_path), "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_EC2_METADATA_DISABLED": "true"})
    result = mount.try_start()
    assert result.returncode == 1
    sentence = one_sentence(result.stderr)
    assert words in sentence and "profile" in sentence, sentence
    assert "wJalr" not in sentence + mount.log()


def test_anonymous_requests_are_not_signed_whatever_the_environment_says(door, mounts, services):
    services.is_good = lambda token: True
    door.bucket.put("f", b"x", ACL="public-read")
    mount = mounts(door.bucket.url, door.url, options=["--anonymous"],
                   environment={"AWS_SESSION_TOKEN": "t", "AWS_CONTAINER_CREDENTIALS_FULL_URI": services.url}).start()
    assert mount.read("f") == b"x"
    assert door.log and not services.asked
    for request in door.log:
        assert not [name for name in request["headers"] if name == "authorization" or name.startswith("x-amz-")]


def test_names_are_signed_as_they_are_sent(bucket, mounts):
    names = ["a+b", "a b", "a%20b", "a%b", "100%", "~t", "a&b=c", "a;b", "a,b", "a'b", "a(b)*", "a!b", "a@b:c", "[x]",
             "a$b", "a?b", "a#b", "\u00fc\u4e2d", "a\"b", "<x>", "{y}", "a|b", "a^b`c", "=", "+", " "]
    for index, name in enumerate(names):
        bucket.put("d/" + name, b"%d" % index)
    mount = mounts(bucket.url, bucket.endpoint).start()
    assert sorted(os.listdir(mount / "d")) == sorted(names)
    for index, name in enumerate(names):
        assert mount.read("d/" + name) == b"%d" % index, name
        assert os.listdir(mount / "d")


def test_an_encoded_object_is_served_as_it_is_stored(bucket, mounts):
    from weather import Proxy

    stored = gzip.compress(random.Random(3).randbytes(300_000) + b"z" * 300_000)
    bucket.put("f.gz", stored, ContentEncoding="gzip", ContentType="text/plain")
    proxy = Proxy(bucket.endpoint)
    try:
        mount = mounts(bucket.url, proxy.url).start()
        assert os.stat(mount / "f.gz").st_size == len(stored)
        assert mount.read("f.gz") == stored
        assert all(r["headers"].get("accept-encoding", "identity") == "identity" for r in proxy.log)
    finally:
        proxy.close()


def test_a_credential_program_ends_with_the_mount_that_asked_it(tmp_path, mounts, strict_bucket):
    number = tmp_path / "pid"
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho $$ > %s\nsleep 3600\n" % number)
    program.chmod(0o755)
    config = tmp_path / "config"
    config.write_text("[profile slow]\ncredential_process = %s\n" % program)
    mount = mounts(strict_bucket.url, strict_bucket.endpoint,
                   options=["--profile", "slow", "--deadline", "3"],
                   environment={"AWS_CONFIG_FILE": str(config), "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
                                "AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None})
    assert mount.try_start().returncode == 1
    pid = int(number.read_text())
    wait_for(lambda: not alive(pid), "the program to end", 5)


def test_no_line_of_the_log_has_the_whole_access_key(strict_bucket):
    strict_bucket.put("k", b"x")
    key = os.environ["AWS_ACCESS_KEY_ID"]
    result = run([DIPPER, "ls", strict_bucket.url, "--endpoint", strict_bucket.endpoint, "--log-level", "debug"])
    assert result.returncode == 0 and "credentials found" in result.stderr
    assert key[:4] + "..." in result.stderr and key not in result.stderr
