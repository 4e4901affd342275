"""Where credentials for TOS come from, and that nobody notices when they change."""

import errno
import json
import os
import re
import socket
import time

import pytest

from conftest import DIPPER, one_sentence, run, wait_for
from credential_services import VolcengineServices
from tos_bucket import REGION

# Nothing of this machine, and nothing that the tests are run with.
NOTHING = {name: None for name in os.environ if name.startswith(("AWS_", "TOS_", "VOLCENGINE_"))}
KEY, SECRET = os.environ["TOS_ACCESS_KEY"], os.environ["TOS_SECRET_KEY"]


@pytest.fixture
def bucket(make_tos_bucket):
    return make_tos_bucket("seaweedfs")


@pytest.fixture
def services(bucket):
    services = VolcengineServices(bucket.endpoint)
    yield services
    services.close()


def write(path, text, mode=0o600):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def environment(home, **more):
    return {**NOTHING, "HOME": str(home), "TOS_REGION": REGION, "VOLCENGINE_ECS_METADATA_DISABLED": "true", **more}


def ls(bucket, environment, *options):
    return run([DIPPER, "ls", bucket.url, "--endpoint", bucket.endpoint, *options], environment=environment)


def no_secret_is_in(text, *secrets):
    for secret in (SECRET, *secrets):
        assert secret not in text


SPELLINGS = [("TOS_ACCESS_KEY", "TOS_SECRET_KEY"), ("TOS_ACCESS_KEY_ID", "TOS_SECRET_ACCESS_KEY"),
             ("VOLCENGINE_ACCESS_KEY", "VOLCENGINE_SECRET_KEY"),
             ("VOLCENGINE_ACCESS_KEY_ID", "VOLCENGINE_SECRET_ACCESS_KEY")]


@pytest.mark.parametrize("key,secret", SPELLINGS)
def test_keys_in_each_spelling_open_the_bucket(bucket, tmp_path, key, secret):
    bucket.put("k", b"x")
    run_ = ls(bucket, environment(tmp_path, **{key: KEY, secret: SECRET}))
    assert (run_.returncode, run_.stdout) == (0, "k\n"), run_.stderr
    half = ls(bucket, environment(tmp_path, **{key: KEY}))
    assert half.returncode == 1
    assert "the environment has %s but not %s" % (key, secret) in one_sentence(half.stderr)


def test_the_files_of_the_vendors_tools_open_the_bucket(bucket, tmp_path):
    bucket.put("k", b"x")
    endpoint = 'endpoint = "%s"\n' % bucket.endpoint
    keys = 'access_key_id = "%s"\nsecret_access_key = "%s"\n' % (KEY, SECRET)
    homes = {
        "profile": {".tos/config.toml": "# written by hand\n[default]\nregion = '%s'\n[default.ve-tos]\n%s%s" % (
            REGION, endpoint, keys)},
        "beside": {".tos/config.toml": "[default]\n" + endpoint,
                   ".tos/credentials.toml": "schema_version = 1\n[default]\n" + keys},
        "ve": {".tos/config.toml": "[default]\n" + endpoint, ".volcengine/config.json": json.dumps(
            {"current": "p", "profiles": {"p": {"mode": "ak", "access-key": KEY, "secret-key": SECRET}}})},
    }
    for name, files in homes.items():
        home = tmp_path / name
        for path, text in files.items():
            write(home / path, text)
        found = run([DIPPER, "ls", bucket.url], environment=environment(home))
        assert (found.returncode, found.stdout) == (0, "k\n"), (name, found.stderr)
    named = run([DIPPER, "ls", bucket.url, "--profile", "none"], environment=environment(tmp_path / "profile"))
    assert named.returncode == 2 or named.returncode == 1
    assert 'there is no profile "none" in' in one_sentence(named.stderr)


def test_keys_that_only_their_own_tool_can_read_are_told(bucket, tmp_path):
    before = bucket.counts()
    write(tmp_path / ".tos/config.toml", '[default]\naccess_key_id = "ENC:AAAA"\nsecret_access_key = "ENC:BBBB"\n')
    write(tmp_path / ".tosutilconfig", "ak=b2JmdXNjYXRlZA\nsk=%s\ntoken=Provide your security token\n" % SECRET)
    found = ls(bucket, environment(tmp_path))
    sentence = one_sentence(found.stderr)
    assert found.returncode == 1 and "no credentials found" in sentence
    assert "access_key_id is encrypted (ENC:)" in sentence and "ak is obfuscated" in sentence
    no_secret_is_in(sentence, "ENC:AAAA")
    assert bucket.counts() == before, "something was asked"


def test_a_secret_that_others_can_read_is_used_and_told(bucket, mounts, tmp_path):
    bucket.put("k", b"x")
    path = write(tmp_path / "home/.tos/config.toml",
                 '[default]\naccess_key_id = "%s"\nsecret_access_key = "%s"\n' % (KEY, SECRET), mode=0o644)
    facts = environment(tmp_path / "home")
    report = json.loads(run([DIPPER, "doctor", bucket.url, "--endpoint", bucket.endpoint, "--json"],
                            environment=facts).stdout)
    check = next(check for check in report["checks"] if check["check"] == "credentials")
    assert check["verdict"] == "warning" and "%s has a secret and can be read" % path in check["advice"]
    mount = mounts(bucket.url, bucket.endpoint, environment=facts).start()
    assert mount.read("k") == b"x" and "can be read by other users" in mount.log()
    no_secret_is_in(json.dumps(report) + mount.log())


def facts_of(kind, services, home):
    """What a machine of this kind has in its environment and files."""
    token = write(home / "token", "web." + services.agent_token + "\n")
    if kind == "instance":
        return environment(home, VOLCENGINE_ECS_METADATA_DISABLED=None, VOLCENGINE_ECS_METADATA_ENDPOINT=services.url)
    if kind == "instance without tokens":
        services.has_tokens = False
        return environment(home, VOLCENGINE_ECS_METADATA_DISABLED=None, VOLCENGINE_ECS_METADATA_ENDPOINT=services.url,
                           VOLCENGINE_ECS_METADATA="the-role")
    if kind == "profile":
        write(home / ".volcengine/config.json", json.dumps({"profiles": {"p": {
            "mode": "OIDC", "role-trn": "trn:iam::1:role/r", "oidc-token-file": str(token)}}}))
        return environment(home, VOLCENGINE_PROFILE="p", VOLCENGINE_OIDC_STS_ENDPOINT=services.url)
    return environment(home, VOLCENGINE_OIDC_ROLE_TRN="trn:iam::1:role/r", VOLCENGINE_OIDC_TOKEN_FILE=str(token),
                       VOLCENGINE_OIDC_STS_ENDPOINT=services.url)


@pytest.mark.parametrize("kind", ["instance", "instance without tokens", "workload", "profile"])
def test_credentials_that_end_in_seconds_are_renewed_unnoticed(services, bucket, mounts, tmp_path, kind):
    for index in range(200):
        bucket.put("d/%d" % index, b"%d" % index * 1000)
    mount = mounts(bucket.url, bucket.endpoint, environment=facts_of(kind, services, tmp_path / "home"),
                   options=["--log-level", "debug"]).start()
    names = set(os.listdir(mount / "d"))
    assert names == {str(index) for index in range(200)}
    for index in range(200):
        assert mount.read("d/%d" % index) == b"%d" % index * 1000
        if len(services.issued) >= 3:
            break
        time.sleep(0.05)
    assert len(services.issued) >= 3, "they were never renewed"
    with open("/proc/%d/cmdline" % mount.pid) as file:
        seen = file.read()
    no_secret_is_in(mount.log() + run([DIPPER, "status", "--json"]).stdout + seen, *services.secrets,
                    services.agent_token, services.session_token)


def test_a_service_that_stays_down_is_told_with_the_time_and_the_source(services, bucket, mounts, tmp_path):
    for index in range(50):
        bucket.put("d/%d" % index, b"x")
    mount = mounts(bucket.url, bucket.endpoint, environment=facts_of("instance", services, tmp_path / "home")).start()
    os.listdir(mount / "d")
    services.is_down = True
    wait_for(lambda: not any(map(services.is_good, services.issued)), "the credentials to end")
    with pytest.raises(OSError) as failure:
        for index in range(50):
            mount.read("d/%d" % index)
    assert failure.value.errno == errno.EACCES
    told = mount.status()["errors"][-1]["message"]
    assert re.search(r"the credentials expired at 20\d\d-", told), told
    assert "the instance's role (%s)" % services.url in told, told
    services.is_down = False
    time.sleep(1.1)
    assert mount.read("d/49") == b"x"


def test_a_refusal_of_sts_is_told_without_the_token(services, bucket, tmp_path):
    facts = facts_of("workload", services, tmp_path / "home")
    write(tmp_path / "home/token", "web.HUSHHUSHHUSH\n")
    found = ls(bucket, facts)
    sentence = one_sentence(found.stderr)
    assert found.returncode == 1 and "STS refuses (HTTP 400, request R1): InvalidOIDCToken" in sentence
    assert "HUSH" not in sentence


def test_a_machine_in_no_cloud_learns_it_soon(bucket, tmp_path):
    silent = socket.create_server(("127.0.0.1", 0))
    before = bucket.counts()
    try:
        begin = time.monotonic()
        found = ls(bucket, environment(tmp_path, VOLCENGINE_ECS_METADATA_DISABLED=None,
                                       VOLCENGINE_ECS_METADATA_ENDPOINT="http://127.0.0.1:%d" % silent.getsockname()[1]))
        took = time.monotonic() - begin
    finally:
        silent.close()
    sentence = one_sentence(found.stderr)
    assert found.returncode == 1
    for place in ("no credentials found", "TOS_ACCESS_KEY", "VOLCENGINE_ACCESS_KEY", ".tos/config.toml",
                  ".tosutilconfig", ".volcengine/config.json", "VOLCENGINE_OIDC_ROLE_TRN", "the instance's role"):
        assert place in sentence, sentence
    assert took < 5, took
    assert bucket.counts() == before, "something was asked"
