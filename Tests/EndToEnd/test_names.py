"""N1 on a real mount: every key of a hostile bucket is there once, and holds its bytes."""

import contextlib
import errno
import hashlib
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
    lines = [line for line in mount.log().splitlines() if "%dipper-object%beside" in line and "is shown as" in line]
    assert len(lines) == 1, mount.log()


# A component each, as a file and as a directory: how they begin is the same.
LONG = ["k" * 256, "k" * 300, "k" * 300 + "x", "\u00e9" * 128, "\u20ac" * 150]


def long_name(component, prefix="%dipper-long%"):
    """The name by docs/names.md, of components that are spelled as they are."""
    head = component.encode()[:255 - len(prefix) - 34].decode(errors="ignore")
    return prefix + head + "%-" + hashlib.sha256(component.encode()).hexdigest()[:32]


@pytest.mark.parametrize("is_listed", [False, True], ids=["by name alone", "listed"])
def test_N1_a_component_too_long_for_a_name_is_one_entry(open_bucket, mounts, is_listed):
    for component in LONG:
        open_bucket.put("files/" + component, body(component))
        open_bucket.put("dirs/" + component + "/" + component, body(component))
        open_bucket.put("both/" + component, body(component))
        open_bucket.put("both/" + component + "/below", b"below")
    mount = mounts(open_bucket.url, open_bucket.endpoint).start()
    assert os.statvfs(mount.path).f_namemax == 255
    if is_listed:
        assert sorted(os.listdir(mount / "files")) == sorted(map(long_name, LONG))
        assert sorted(os.listdir(mount / "dirs")) == sorted(map(long_name, LONG))
        both = [long_name(component, prefix) for component in LONG for prefix in ("%dipper-long%", "%dipper-object%")]
        assert sorted(os.listdir(mount / "both")) == sorted(both)
    for component in LONG:
        name = long_name(component)
        assert len(os.fsencode(name)) <= 255
        for path, key in [
            ("files/" + name, "files/" + component),
            ("dirs/" + name + "/" + name, "dirs/" + component + "/" + component),
            ("both/" + long_name(component, "%dipper-object%"), "both/" + component),
        ]:
            assert mount.read(path) == body(component)
            assert os.stat(mount / path).st_size == len(body(component))
            assert os.getxattr(mount / path, "user.dipper.key").decode() == key
        assert os.listdir(mount / ("dirs/" + name)) == [name]
        assert os.listdir(mount / ("both/" + name)) == ["below"]
        assert os.getxattr(mount / ("dirs/" + name), "user.dipper.key").decode() == "dirs/" + component + "/"
        with pytest.raises(FileNotFoundError):
            os.stat(mount / ("files/" + name[:-1] + ("0" if name[-1] != "0" else "1")))
        with pytest.raises(OSError) as refusal:
            os.stat(mount / ("files/" + component))
        assert refusal.value.errno == errno.ENAMETOOLONG
