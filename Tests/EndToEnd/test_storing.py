"""How objects are stored: class, tags, encryption, access, and checksums that go along with bytes."""

import os
import shutil

import pytest

from checking_server import CRC32C, CRC64NVME, CheckingServer, crc
from conftest import SERVERS, Bucket
from programs import DIPPER, one_sentence, run
from transfers import content

PART = 5 << 20
OPTIONS = ["--storage-class", "STANDARD_IA", "--sse", "kms", "--sse-kms-key-id", "key/1", "--acl", "public-read",
           "--tag", "team=blue sky", "--tag", "empty="]
TAGS = {"team": "blue sky", "empty": ""}


@pytest.fixture
def moto():
    """A bucket on the server that keeps all of it."""
    bucket = Bucket("moto", SERVERS["moto"])
    yield bucket
    bucket.clear()


@pytest.fixture
def checking(moto):
    server = CheckingServer(moto.endpoint)
    yield server
    server.close()


def tags(bucket, key):
    answer = bucket.s3.get_object_tagging(Bucket=bucket.name, Key=key)
    return {tag["Key"]: tag["Value"] for tag in answer["TagSet"]}


def is_public(bucket, key):
    try:
        grants = bucket.s3.get_object_acl(Bucket=bucket.name, Key=key)["Grants"]
    except bucket.s3.exceptions.ClientError as failure:
        # moto 5.2 answers so for what was uploaded in parts without an access list.
        assert failure.response["ResponseMetadata"]["HTTPStatusCode"] == 500
        return False
    return any(grant["Grantee"].get("URI", "").endswith("/AllUsers") and grant["Permission"] == "READ"
               for grant in grants)


def stored(bucket, key):
    """Class, encryption, key, access and tags of an object as another client sees them."""
    head = bucket.s3.head_object(Bucket=bucket.name, Key=key)
    return (head.get("StorageClass", "STANDARD"), head.get("ServerSideEncryption"), head.get("SSEKMSKeyId"),
            is_public(bucket, key), tags(bucket, key))


AS_ASKED = ("STANDARD_IA", "aws:kms", "key/1", True, TAGS)


def dipper(command, *words, endpoint, state):
    return run([DIPPER, command, *map(str, words), "--endpoint", endpoint], environment={"XDG_STATE_HOME": str(state)})


@pytest.mark.parametrize("size", [7, 2 * PART + 1], ids=["whole", "parts"])
def test_put_stores_as_asked(moto, tmp_path, size):
    (tmp_path / "f").write_bytes(content(size))
    result = dipper("put", tmp_path / "f", moto.url + "/k", "--part-size", "5M", *OPTIONS,
                    endpoint=moto.endpoint, state=tmp_path)
    assert result.returncode == 0, result.stderr
    assert stored(moto, "k") == AS_ASKED
    assert moto.get("k") == content(size)


def test_a_stream_is_stored_as_asked(moto, tmp_path):
    (tmp_path / "f").write_bytes(content(PART + 1))
    with open(tmp_path / "f", "rb") as source:
        result = run([DIPPER, "put", "-", moto.url + "/k", "--part-size", "5M", "--endpoint", moto.endpoint, *OPTIONS],
                     stdin=source)
    assert result.returncode == 0, result.stderr
    assert stored(moto, "k") == AS_ASKED


@pytest.mark.parametrize("how", [[], ["--part-size", "5M"]], ids=["whole", "parts"])
def test_cp_stores_as_asked_or_as_the_source_is(moto, tmp_path, how):
    moto.put("a", content(PART + 1), StorageClass="ONEZONE_IA", Tagging="from=a", ContentType="text/x")

    def copy(target, *options):
        result = dipper("cp", moto.url + "/a", moto.url + "/" + target, *how, *options,
                        endpoint=moto.endpoint, state=tmp_path)
        assert result.returncode == 0, result.stderr
        return moto.s3.head_object(Bucket=moto.name, Key=target)["ContentType"], *stored(moto, target)

    assert copy("plain") == ("text/x", "ONEZONE_IA", None, None, False, {"from": "a"})
    assert copy("asked", *OPTIONS) == ("text/x", *AS_ASKED)
    assert moto.get("asked") == content(PART + 1)
    # Onto itself it is another object if it is stored otherwise, and the same mistake as ever if not.
    assert copy("a", "--sse", "s3")[2] == "AES256"
    result = dipper("cp", moto.url + "/a", moto.url + "/a", endpoint=moto.endpoint, state=tmp_path)
    assert result.returncode != 0 and "onto itself" in one_sentence(result.stderr)


def test_a_mount_stores_what_is_written_as_asked(moto, mounts):
    moto.put("old", b"old", StorageClass="ONEZONE_IA", Tagging="from=old")
    moto.put("source", b"source", StorageClass="ONEZONE_IA", Tagging="from=source")
    mount = mounts(moto.url, moto.endpoint, options=OPTIONS).start()
    for name, size in (("small", 5), ("large", 25 << 20)):
        with open(mount / name, "wb") as file:
            file.write(content(size))
        assert stored(moto, name) == AS_ASKED, name
    os.mkdir(mount / "d")
    assert is_public(moto, "d/")
    os.rename(mount / "small", mount / "moved")
    assert stored(moto, "moved") == AS_ASKED
    os.chmod(mount / "moved", 0o600)
    assert stored(moto, "moved") == AS_ASKED
    # What is edited, moved or copied keeps what belongs to it (C4); who may reach it nobody keeps.
    with open(mount / "old", "ab") as file:
        file.write(b"er")
    assert stored(moto, "old") == ("ONEZONE_IA", "aws:kms", "key/1", True, {"from": "old"})
    os.rename(mount / "old", mount / "older")
    assert stored(moto, "older") == ("ONEZONE_IA", "aws:kms", "key/1", True, {"from": "old"})
    shutil.copyfile(mount / "source", mount / "copy")
    assert stored(moto, "copy")[1:] == ("aws:kms", "key/1", True, TAGS)
    source = os.open(mount / "source", os.O_RDONLY)
    target = os.open(mount / "copied", os.O_WRONLY | os.O_CREAT)
    assert os.copy_file_range(source, target, 6) == 6
    os.close(source)
    os.close(target)
    assert stored(moto, "copied") == ("STANDARD_IA", "aws:kms", "key/1", True, {"from": "source"})


def test_a_directory_that_is_renamed_keeps_what_belongs_to_each(moto, mounts):
    moto.put("d/a", b"a", StorageClass="ONEZONE_IA", Tagging="from=a")
    mount = mounts(moto.url, moto.endpoint, options=OPTIONS).start()
    os.rename(mount / "d", mount / "e")
    assert stored(moto, "e/a") == ("ONEZONE_IA", "aws:kms", "key/1", True, {"from": "a"})


TOS_OPTIONS = ["--storage-class", "IA", "--sse", "kms", "--sse-kms-key-id", "key/1", "--acl", "public-read",
               "--tag", "team=blue sky", "--tag", "empty="]


def tos_stored(bucket, key):
    head = bucket.head(key)
    acl = bucket.tos.get_object_acl(bucket.name, key)
    is_read_by_all = any(grant.permission.value == "READ" and grant.grantee.canned is not None for grant in acl.grants)
    found = {tag.key: tag.value for tag in bucket.tos.get_object_tagging(bucket.name, key).tag_set}
    return (head.storage_class.value, head.header.get("x-tos-server-side-encryption"),
            head.header.get("x-tos-server-side-encryption-kms-key-id"), is_read_by_all, found)


def test_tos_stores_as_asked(tos_bucket, mounts, tmp_path):
    asked = ("IA", "kms", "key/1", True, TAGS)
    for name, size in (("whole", 7), ("parts", PART + 1)):
        (tmp_path / name).write_bytes(content(size))
        result = dipper("put", tmp_path / name, tos_bucket.url + "/", "--part-size", "5M", "--checksum", "md5",
                        *TOS_OPTIONS, endpoint=tos_bucket.endpoint, state=tmp_path)
        assert result.returncode == 0, result.stderr
        assert tos_stored(tos_bucket, name) == asked, name
    tos_bucket.put("plain", b"plain")
    result = dipper("cp", tos_bucket.url + "/plain", tos_bucket.url + "/copy", *TOS_OPTIONS,
                    endpoint=tos_bucket.endpoint, state=tmp_path)
    assert result.returncode == 0, result.stderr
    assert tos_stored(tos_bucket, "copy") == asked
    mount = mounts(tos_bucket.url, tos_bucket.endpoint, options=TOS_OPTIONS).start()
    with open(mount / "written", "wb") as file:
        file.write(b"written")
    assert tos_stored(tos_bucket, "written") == asked


@pytest.mark.parametrize("url,words,part", [
    ("s3://b", ["--acl", "bucket-owner-entrusted"], "--acl"), ("s3://b", ["--sse", "c"], "--sse"),
    ("s3://b", ["--sse-c", "AES256"], "--sse-c"), ("s3://b", ["--sse-kms-key-id", "k"], "--sse-kms-key-id"),
    ("s3://b", ["--tag", "x"], "--tag"), ("s3://b", ["--storage-class", ""], "--storage-class"),
    ("s3://b", ["--checksum", "sha1"], "--checksum"), ("tos://buck", ["--storage-class", "GLACIER"], "--storage-class"),
    ("tos://buck", ["--checksum", "crc32c"], "--checksum"), ("file:///tmp", ["--sse", "s3"], "--sse"),
    ("file:///tmp", ["--acl", "private"], "--acl"), ("file:///tmp", ["--storage-class", "X"], "--storage-class"),
])
def test_a_bad_value_names_its_option(tmp_path, url, words, part):
    (tmp_path / "f").write_bytes(b"x")
    for command in (["mount", url, str(tmp_path / "m")], ["put", str(tmp_path / "f"), url + "/k"],
                    ["cp", url + "/a", url + "/k"]):
        result = run([DIPPER, *command, *words])
        assert result.returncode == 2 and part in one_sentence(result.stderr), result
    assert os.listdir(tmp_path) == ["f"]


def test_a_paused_upload_is_not_gone_on_with_otherwise(strict_bucket, tmp_path):
    """The upload at the store was begun with one encryption; parts with another's words would not change it."""
    (tmp_path / "f").write_bytes(content(3 * PART))
    from weather import Proxy
    proxy = Proxy(strict_bucket.endpoint)
    try:
        proxy.rules = [{"method": "PUT", "query": "partNumber=3", "status": 403}]
        words = [tmp_path / "f", strict_bucket.url + "/k", "--part-size", "5M"]
        first = dipper("put", *words, "--acl", "public-read", endpoint=proxy.url, state=tmp_path / "s")
        assert first.returncode == 1, first
        proxy.rules = []
        other = dipper("put", *words, "--acl", "private", endpoint=proxy.url, state=tmp_path / "s")
        assert other.returncode != 0 and "acl" in one_sentence(other.stderr), other
        again = dipper("put", *words, "--acl", "public-read", endpoint=proxy.url, state=tmp_path / "s")
        assert again.returncode == 0, again.stderr
        assert strict_bucket.get("k") == content(3 * PART)
    finally:
        proxy.close()


# Checksums.

FIELDS = {"crc64nvme": "x-amz-checksum-crc64nvme", "crc32c": "x-amz-checksum-crc32c", "md5": "content-md5"}


def test_the_checking_server_computes_the_published_values():
    assert crc(CRC32C, 4, b"123456789").hex() == "e3069283"
    assert crc(CRC64NVME, 8, b"123456789").hex() == "ae8b14860a799888"


@pytest.mark.parametrize("kind", FIELDS)
def test_the_checksum_that_goes_along_is_right(moto, checking, mounts, tmp_path, kind):
    (tmp_path / "f").write_bytes(content(PART + 11))
    result = dipper("put", tmp_path / "f", moto.url + "/put", "--part-size", "5M", "--checksum", kind,
                    endpoint=checking.url, state=tmp_path)
    assert result.returncode == 0, result.stderr
    mount = mounts(moto.url, checking.url, options=["--checksum", kind]).start()
    with open(mount / "small", "wb") as file:
        file.write(content(77))
    bodies = [checked for method, fields, checked in checking.seen
              if method == "PUT" and int(fields.get("content-length", 0))]
    assert bodies == [FIELDS[kind]] * 3
    begun = [fields for method, fields, _ in checking.seen if method == "POST" and "x-amz-checksum-algorithm" in fields]
    assert [fields["x-amz-checksum-algorithm"] for fields in begun] == ([] if kind == "md5" else [kind.upper()])
    assert (moto.get("put"), moto.get("small")) == (content(PART + 11), content(77))


@pytest.mark.parametrize("kind", FIELDS)
@pytest.mark.parametrize("size", [11, PART + 11], ids=["whole", "parts"])
def test_a_body_that_is_damaged_on_its_way_is_sent_again(moto, checking, tmp_path, kind, size):
    (tmp_path / "f").write_bytes(content(size))
    checking.damaged = 1
    result = dipper("put", tmp_path / "f", moto.url + "/k", "--part-size", "5M", "--checksum", kind,
                    endpoint=checking.url, state=tmp_path)
    assert result.returncode == 0, result.stderr
    assert checking.damaged == 0 and moto.get("k") == content(size)


@pytest.mark.parametrize("status", [400, 501])
def test_a_store_that_knows_no_checksums_gets_the_bytes_without(moto, checking, mounts, tmp_path, status):
    checking.refuses = status
    mount = mounts(moto.url, checking.url, options=["--checksum", "crc64nvme"]).start()
    for name in ("a", "b"):
        with open(mount / name, "wb") as file:
            file.write(name.encode())
    assert (moto.get("a"), moto.get("b")) == (b"a", b"b")
    # Asked once, and said once.
    assert [checked is not None for method, fields, checked in checking.seen if method == "PUT"] == [True, False, False]
    assert mount.log().count("doesn't take the checksum crc64nvme") == 1
    (tmp_path / "f").write_bytes(content(PART + 1))
    result = dipper("put", tmp_path / "f", moto.url + "/k", "--part-size", "5M", "--checksum", "crc32c",
                    endpoint=checking.url, state=tmp_path)
    assert result.returncode == 0, result.stderr
    assert moto.get("k") == content(PART + 1)


@pytest.mark.parametrize("kind", ["crc64nvme", "crc32c", "md5", "none", "auto"])
def test_every_server_takes_every_checksum(bucket, tmp_path, kind):
    for key, size in (("small", 99), ("large", PART + 99)):
        (tmp_path / "f").write_bytes(content(size))
        result = dipper("put", tmp_path / "f", bucket.url + "/" + key, "--part-size", "5M", "--checksum", kind,
                        endpoint=bucket.endpoint, state=tmp_path)
        assert result.returncode == 0, result.stderr
        assert bucket.get(key) == content(size)
        result = dipper("cp", bucket.url + "/" + key, bucket.url + "/copy", "--part-size", "5M", "--checksum", kind,
                        endpoint=bucket.endpoint, state=tmp_path)
        assert result.returncode == 0, result.stderr
        assert bucket.get("copy") == content(size)
