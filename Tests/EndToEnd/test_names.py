"""N1 on a real mount: every key of a hostile bucket is there once, and holds its bytes."""

import contextlib
import os

import pytest
from botocore.exceptions import ClientError

from conftest import SERVERS, Bucket

KEYS = [
    "plain", "dir/plain", "dir//double", "control/\x01\x1f\x7f",
    "tab\there", "%dipper%literal", "%dipper-object%beside", "%dipper-long%short", "100%",
    "beside", "beside/below", "marker/", "marker/kid",
    "k" * 255, "k" * 256, "k" * 1024, "long/" + "d" * 300 + "/f", "long/" + "d" * 300 + "/" + "e" * 500,
    "euro/" + "\u20ac" * 300, "emoji/" + "a" + "\U0001f600" * 100, "percent/" + "%" * 250,
    "shadow/" + "n" * 250, "shadow/" + "n" * 250 + "/below", "shadow/" + "n" * 240,
]
# The server takes these for other paths, or answers 404 (moto to a newline).
TOO_ODD = ["line\nbreak", "//lead", "/", "dots/./x", "dots/../x", ".."]


@pytest.fixture
def open_bucket():
    """A bucket on the server that takes nearly every key."""
    bucket = Bucket("moto", SERVERS["moto"])
    yield bucket
    bucket.clear()


def body(key):
    return b"at " + key.encode()


def test_N1_every_key_is_there_once_and_holds_its_bytes(open_bucket, mounts):
    for key in KEYS:
        open_bucket.put(key, body(key))
    for key in TOO_ODD:
        with contextlib.suppress(ClientError):
            open_bucket.put(key, body(key))
    pages = open_bucket.s3.get_paginator("list_objects_v2").paginate(Bucket=open_bucket.name)
    held = {entry["Key"] for page in pages for entry in page.get("Contents", [])}
    assert set(KEYS) <= held
    mount = mounts(open_bucket.url, open_bucket.endpoint).start()
    found = []

    def visit(directory):
        names = os.listdir(directory)
        assert len(set(names)) == len(names)
        for name in names:
            assert len(name) <= 255
            path = os.path.join(directory, name)
            if os.path.isdir(path):
                visit(path)
            else:
                found.append(os.getxattr(path, b"user.dipper.key").decode())
                if found[-1] in KEYS:
                    with open(path, "rb") as file:
                        assert file.read() == body(found[-1])

    visit(os.fsencode(mount.path))
    assert sorted(found) == sorted(key for key in held if not key.endswith("/"))
    # Not listed, for it is a directory to everyone else, but there.
    assert os.listdir(mount / "marker") == ["kid"]
    assert mount.read("marker/%dipper-object%") == b"at marker/"
    tail = "%dipper-long%" + "k" * 240 + "/%dipper%" + "k" * 16
    assert mount.read(tail) == b"at " + b"k" * 256
    assert os.stat(mount / tail).st_size == 3 + 256
    lines = [line for line in mount.log().splitlines() if "%dipper-object%beside" in line and "is shown as" in line]
    assert len(lines) == 1, mount.log()
