"""Fixtures of the end-to-end tests: real servers, a real kernel mount, the built program."""

import contextlib
import errno
import itertools
import json
import os
import shutil
import signal
import subprocess
import uuid

import boto3
import pytest
from botocore.config import Config

import tos_bucket as tos_buckets
import transfers
from programs import DIPPER, ROOT, alive, one_sentence, run, wait_for  # noqa: F401
from weather import Proxy

SERVERS = dict(
    pair.split("=", 1) for pair in os.environ.get("DIPPER_TEST_SERVERS", "").split(",") if "=" in pair
)
TTL = 1

# The program under test and the second client use the servers' credentials, and nothing of the
# machine's own.
for name in [name for name in os.environ if name.startswith(("AWS_", "TOS_", "VOLCENGINE_"))]:
    del os.environ[name]
os.environ["AWS_ACCESS_KEY_ID"] = os.environ.get("DIPPER_TEST_ACCESS_KEY", "")
os.environ["AWS_SECRET_ACCESS_KEY"] = os.environ.get("DIPPER_TEST_SECRET_KEY", "")
os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
os.environ["TOS_ACCESS_KEY"] = os.environ["AWS_ACCESS_KEY_ID"]
os.environ["TOS_SECRET_KEY"] = os.environ["AWS_SECRET_ACCESS_KEY"]
os.environ["TOS_REGION"] = tos_buckets.REGION
os.environ["VOLCENGINE_ECS_METADATA_DISABLED"] = "true"


def pytest_configure():
    if not SERVERS:
        pytest.exit("DIPPER_TEST_SERVERS is not set: run this through `scripts/servers exec`", 2)
    if not os.access(DIPPER, os.X_OK):
        pytest.exit("there is no program at %s: build it first" % DIPPER, 2)


def client(endpoint):
    """The second client, with the servers' credentials."""
    return boto3.client(
        "s3", endpoint_url=endpoint, region_name="us-east-1",
        aws_access_key_id=os.environ["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=os.environ["AWS_SECRET_ACCESS_KEY"],
        config=Config(s3={"addressing_style": "path"}, max_pool_connections=32,
                      request_checksum_calculation="when_required",
                      response_checksum_validation="when_required"),
    )


class Bucket:
    """A fresh bucket on one server, seen as another client sees it."""

    def __init__(self, server, endpoint):
        self.server = server
        self.endpoint = endpoint
        self.name = "t" + uuid.uuid4().hex[:16]
        self.url = "s3://" + self.name
        self.s3 = client(endpoint)
        self.s3.create_bucket(Bucket=self.name)

    def put(self, key, body=b"", **facts):
        return self.s3.put_object(Bucket=self.name, Key=key, Body=body, **facts)["ETag"]

    def delete(self, key):
        self.s3.delete_object(Bucket=self.name, Key=key)

    def clear(self):
        """Takes the bucket and all it holds away, so that the servers' disk doesn't fill up."""
        for page in self.s3.get_paginator("list_objects_v2").paginate(Bucket=self.name):
            keys = [{"Key": entry["Key"]} for entry in page.get("Contents", [])]
            with contextlib.suppress(Exception):
                self.s3.delete_objects(Bucket=self.name, Delete={"Objects": keys, "Quiet": True})
        with contextlib.suppress(Exception):
            self.s3.delete_bucket(Bucket=self.name)

    def get(self, key):
        return self.s3.get_object(Bucket=self.name, Key=key)["Body"].read()


class Mount:
    """A mount of the program under test, and the ways to end it."""

    def __init__(self, url, directory, endpoint=None, cache=None, options=(), environment=None, user=None):
        self.url = url
        self.path = str(directory)
        self.cache = str(cache or self.path + ".cache")
        self.endpoint = endpoint
        self.options = list(options)
        self.environment = environment or {}
        self.user = user

    def command(self):
        command = [DIPPER, "mount", self.url, self.path, "--cache-dir", self.cache,
                   "--log-file", self.path + ".log", "--log-level", "info"]
        if self.endpoint:
            command += ["--endpoint", self.endpoint]
        if not any(o.startswith("--metadata-ttl") for o in self.options):
            command += ["--metadata-ttl", str(TTL)]
        return command + self.options

    def try_start(self, timeout=60):
        if not is_mounted(self.path):  # a dead mount's directory can't even be looked at
            os.makedirs(self.path, exist_ok=True)
        return run(self.command(), timeout=timeout, environment=self.environment, user=self.user)

    def start(self):
        result = self.try_start()
        assert result.returncode == 0, "mount failed: %s" % (result.stderr or result.stdout)
        assert is_mounted(self.path), "mount returned 0 but nothing is mounted"
        return self

    def status(self):
        everything = json.loads(run([DIPPER, "status", "--json"]).stdout)
        found = [m for m in everything["mounts"] if m["mountpoint"] == self.path]
        assert len(found) == 1, everything
        return found[0]

    @property
    def pid(self):
        return self.status()["pid"]

    def kill(self):
        """kill -9: the mount is left dead behind."""
        pid = self.pid
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not alive(pid), "the daemon to die")
        # The kernel lets go of the mount when the last of its threads is gone, a moment later.
        wait_for(self.is_disconnected, "the mount to be dead")
        return pid

    def is_disconnected(self):
        try:
            os.statvfs(self.path)
        except OSError as failure:
            return failure.errno == errno.ENOTCONN
        return False

    def stop(self):
        return run([DIPPER, "unmount", self.path], timeout=60)

    def log(self):
        with contextlib.suppress(OSError):
            with open(self.path + ".log") as file:
                return file.read()
        return ""

    def clear(self):
        with contextlib.suppress(Exception):
            os.kill(self.pid, signal.SIGKILL)
        while is_mounted(self.path):
            if subprocess.run(["umount", "-l", self.path], capture_output=True).returncode:
                break

    def __truediv__(self, name):
        return os.path.join(self.path, name)

    def read(self, name):
        with open(self / name, "rb") as file:
            return file.read()


def is_mounted(path):
    with open("/proc/self/mounts") as mounts:
        return any(line.split()[1] == path for line in mounts)


@pytest.fixture(params=sorted(SERVERS))
def bucket(request):
    """A bucket on each server."""
    bucket = Bucket(request.param, SERVERS[request.param])
    yield bucket
    bucket.clear()


@pytest.fixture
def strict_bucket():
    """A bucket on the server that checks signatures."""
    bucket = Bucket("seaweedfs", SERVERS["seaweedfs"])
    yield bucket
    bucket.clear()


@pytest.fixture
def make_tos_bucket():
    """Makes buckets behind a TOS gateway: `make("moto", type="hns")`."""
    made = []

    def make(server, **settings):
        made.append(tos_buckets.TosBucket(server, client(SERVERS[server]), **settings))
        return made[-1]

    yield make
    for bucket in made:
        bucket.clear()


@pytest.fixture(params=sorted(tos_buckets.SERVERS))
def tos_bucket(request, make_tos_bucket):
    """A flat bucket behind each TOS gateway."""
    return make_tos_bucket(request.param)


@pytest.fixture(params=sorted(tos_buckets.SERVERS))
def tos_tree(request, make_tos_bucket):
    """A hierarchical bucket behind each TOS gateway."""
    return make_tos_bucket(request.param, type="hns")


@pytest.fixture
def make_bucket(make_tos_bucket):
    """Makes buckets of a kind of `transfers.KINDS`."""
    made = []

    def make_s3(server):
        made.append(Bucket(server, SERVERS[server]))
        return made[-1]

    yield lambda kind: transfers.make_bucket(kind, make_s3, make_tos_bucket)
    for bucket in made:
        bucket.clear()


@pytest.fixture
def make_place(make_bucket, tmp_path):
    """Makes places for transfers: `make("seaweedfs", data)`."""
    made = []

    def make(kind, data):
        made.append(transfers.Place(kind, make_bucket(kind), tmp_path / ("place%d" % len(made)), data))
        return made[-1]

    yield make
    for place in made:
        place.close()


@pytest.fixture(params=transfers.KINDS)
def place(request, make_place):
    """A place of each kind, whose object has three parts, the last one short."""
    return make_place(request.param, transfers.content(2 * transfers.PART + 123))


@pytest.fixture
def proxy(strict_bucket):
    proxy = Proxy(strict_bucket.endpoint)
    yield proxy
    proxy.close()


@pytest.fixture
def mounts(tmp_path):
    """Makes mounts that are gone after the test, whatever happened."""
    made = []
    numbers = itertools.count()

    def make(url, endpoint=None, **facts):
        mount = Mount(url, facts.pop("directory", tmp_path / ("mnt%d" % next(numbers))), endpoint, **facts)
        made.append(mount)
        return mount

    yield make
    for mount in made:
        mount.clear()
        shutil.rmtree(mount.cache, ignore_errors=True)


@pytest.fixture
def weather_mount(proxy, strict_bucket, mounts):
    """A mount that reaches its bucket through the weather proxy."""

    def make(**facts):
        return mounts(strict_bucket.url, proxy.url, **facts)

    return make
