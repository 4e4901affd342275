"""Objects of the TOS gateway, written and read by the vendor's own SDK."""

import base64
import hashlib
import itertools
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest
import tos
from tos.enum import StorageClassType, VersioningStatusType
from tos.models2 import ObjectTobeDeleted

from tos_bucket import refused
from tos_gateway import crc64

STANDARD = StorageClassType.Storage_Class_Standard
IA = StorageClassType.Storage_Class_Ia


def test_what_is_put_is_got_with_all_that_describes_it(tos_bucket):
    data = random.Random(1).randbytes(300_000)
    expires = datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    put = tos_bucket.put(
        "d/k", data, content_type="text/x", cache_control="no-cache", content_disposition='attachment; filename="ü"',
        content_encoding="identity", content_language="en", expires=expires, meta={"name": "值 1", "Other": "2"},
        content_md5=base64.b64encode(hashlib.md5(data).digest()).decode(), storage_class=IA,
        tagging="a=1&b=")
    assert (put.etag, put.hash_crc64_ecma) == (hashlib.md5(data).hexdigest(), crc64.of(data))
    for seen in (tos_bucket.head("d/k"), tos_bucket.tos.get_object(tos_bucket.name, "d/k")):
        assert (seen.etag, seen.hash_crc64_ecma, seen.content_length) == (put.etag, put.hash_crc64_ecma, len(data))
        assert (seen.content_type, seen.cache_control, seen.content_encoding) == ("text/x", "no-cache", "identity")
        assert (seen.content_disposition, seen.content_language) == ('attachment; filename="ü"', "en")
        assert (seen.expires, seen.meta) == (expires, {"name": "值 1", "other": "2"})
        assert seen.version_id is None
        assert (seen.storage_class, seen.object_type, seen.tagging_count) == (IA, "Normal", 2)
        assert abs(datetime.now(timezone.utc) - seen.last_modified) < timedelta(minutes=1)
    assert tos_bucket.get("d/k") == data
    behind = tos_bucket.s3.get_object(Bucket=tos_bucket.name, Key="d/k")
    assert (behind["Body"].read(), behind["ContentType"]) == (data, "text/x")


def test_what_an_s3_client_put_is_there_and_what_it_replaced_is_not(tos_bucket):
    tos_bucket.put("k", b"old", meta={"a": "1"}, storage_class=IA)
    tos_bucket.s3.put_object(Bucket=tos_bucket.name, Key="k", Body=b"new", Metadata={"b": "2"})
    head = tos_bucket.head("k")
    assert (head.meta, head.content_length, head.hash_crc64_ecma) == ({"b": "2"}, 3, crc64.of(b"new"))
    assert head.storage_class == STANDARD
    assert tos_bucket.get("k") == b"new"


def test_an_answer_never_mixes_two_versions(tos_bucket):
    versions = [b"a" * 50_000, b"b" * 50_000]
    tos_bucket.put("k", versions[0])
    ended = threading.Event()

    def write():
        for n in itertools.count():
            if ended.is_set():
                return
            tos_bucket.put("k", versions[n % 2])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = [tos_bucket.tos.get_object(tos_bucket.name, "k") for _ in range(40)]
        for one in seen:
            data = one.read()
            assert (hashlib.md5(data).hexdigest(), crc64.of(data)) == (one.etag, one.hash_crc64_ecma)
    finally:
        ended.set()
        writer.join()


def test_an_answer_describes_the_object_as_the_request_wants(tos_bucket):
    tos_bucket.put("k", b"x", content_type="text/x")
    got = tos_bucket.tos.get_object(tos_bucket.name, "k", response_content_type="text/y", response_cache_control="no-store")
    assert (got.content_type, got.cache_control) == ("text/y", "no-store")


@pytest.mark.parametrize("wanted, expected", [
    ("bytes=0-0", b"0"), ("bytes=3-5", b"345"), ("bytes=7-", b"789"), ("bytes=-2", b"89"), ("bytes=-99", b"0123456789"),
    ("bytes=8-100", b"89"), ("bytes=0-9", b"0123456789")])
def test_ranges(tos_bucket, wanted, expected):
    tos_bucket.put("k", b"0123456789")
    got = tos_bucket.tos.get_object(tos_bucket.name, "k", range=wanted)
    first = b"0123456789".index(expected)
    assert got.read() == expected
    assert (got.status_code, got.content_length) == (206, len(expected))
    assert got.content_range == "bytes %d-%d/10" % (first, first + len(expected) - 1)
    # It is that of the whole object.
    assert got.hash_crc64_ecma == crc64.of(b"0123456789")


@pytest.mark.parametrize("data, wanted", [(b"0123", "bytes=4-"), (b"0123", "bytes=9-12"), (b"0123", "bytes=-0"),
                                          (b"", "bytes=0-"), (b"", "bytes=0-0"), (b"", "bytes=-1")])
def test_a_range_without_a_byte_is_refused(tos_bucket, data, wanted):
    tos_bucket.put("k", data)
    with refused("Requested Range Not Satisfiable", 416):
        tos_bucket.tos.get_object(tos_bucket.name, "k", range=wanted)


def test_conditions_of_reads(tos_bucket):
    etag = tos_bucket.put("k", b"x").etag
    past, future = (datetime.now(timezone.utc) + timedelta(days=days) for days in (-1, 1))
    for read in (tos_bucket.head, tos_bucket.get):
        for facts in ({"if_match": etag}, {"if_match": '"%s"' % etag}, {"if_none_match": "other"},
                      {"if_modified_since": past}, {"if_unmodified_since": future}):
            read("k", **facts)
        for facts in ({"if_match": "other"}, {"if_unmodified_since": past}):
            with refused("PreconditionFailed", 412):
                read("k", **facts)
        for facts in ({"if_none_match": etag}, {"if_modified_since": future}):
            with refused("", 304):
                read("k", **facts)


def test_a_write_that_must_not_replace_does_not(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    etag = tos_bucket.put("k", b"first", forbid_overwrite=True).etag
    tos_bucket.put("other", b"other")
    with refused("DuplicateObject", 409, "0017-00000004"):
        tos_bucket.put("k", b"second", forbid_overwrite=True)
    with refused("DuplicateObject", 409, "0017-00000004"):
        client.copy_object(name, "k", name, "other", forbid_overwrite=True)
    for key, wanted in (("k", "other"), ("none", etag)):
        with refused("PreconditionFailed", 412):
            tos_bucket.put(key, b"second", if_match=wanted)
        with refused("PreconditionFailed", 412):
            client.copy_object(name, key, name, "other", if_match=wanted)
    assert (tos_bucket.get("k"), tos_bucket.keys()) == (b"first", ["k", "other"])
    assert tos_bucket.put("k", b"second", if_match=etag).etag == hashlib.md5(b"second").hexdigest()


@pytest.mark.parametrize("facts, code", [
    ({"content_md5": base64.b64encode(bytes(16)).decode()}, "BadDigest"), ({"content_md5": "?"}, "InvalidDigest"),
    ({"content_sha256": hashlib.sha256(b"y").hexdigest()}, "ContentSHA256Mismatch")])
def test_a_body_that_is_not_the_announced_one_is_not_stored(tos_bucket, facts, code):
    with refused(code, 400):
        tos_bucket.put("k", b"x", **facts)
    assert tos_bucket.keys() == []


def test_a_body_of_unknown_length_is_stored(tos_bucket):
    pieces = [b"a" * 100_000, b"b", b"c" * 70_000]
    tos_bucket.put("k", iter(pieces))
    assert tos_bucket.get("k") == b"".join(pieces)


def test_appending_goes_on_where_the_object_ends(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    first = client.append_object(name, "k", 0, content=b"hello ", meta={"a": "1"})
    assert (first.next_append_offset, first.hash_crc64_ecma) == (6, crc64.of(b"hello "))
    second = client.append_object(name, "k", 6, content=b"world", pre_hash_crc64_ecma=first.hash_crc64_ecma)
    assert (second.next_append_offset, second.hash_crc64_ecma) == (11, crc64.of(b"hello world"))
    head = tos_bucket.head("k")
    assert (tos_bucket.get("k"), head.object_type, head.meta) == (b"hello world", "Appendable", {"a": "1"})
    for offset in (0, 5, 12):
        with refused("OffsetNotMatched", 409, "0017-00000208"):
            client.append_object(name, "k", offset, content=b"x")
    tos_bucket.put("normal", b"x")
    with refused("NotAppendable", 409, "0017-00000209"):
        client.append_object(name, "normal", 1, content=b"x")


def test_versions_stay_until_they_are_deleted(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    client.put_bucket_versioning(name, VersioningStatusType.Versioning_Status_Enabled)
    assert client.get_bucket_version(name).status == VersioningStatusType.Versioning_Status_Enabled
    old = tos_bucket.put("k", b"old", meta={"a": "1"}).version_id
    # A bucket with versions doesn't mind.
    new = tos_bucket.put("k", b"newer", forbid_overwrite=True).version_id
    assert old and new and old != new and tos_bucket.head("k").version_id == new
    head = tos_bucket.head("k", version_id=old)
    assert (head.version_id, head.content_length, head.meta, head.hash_crc64_ecma) == (old, 3, {"a": "1"}, crc64.of(b"old"))
    assert (tos_bucket.get("k", version_id=old), tos_bucket.get("k")) == (b"old", b"newer")
    copy = client.copy_object(name, "copy", name, "k", src_version_id=old)
    assert copy.copy_source_version_id == old and copy.version_id and tos_bucket.get("copy") == b"old"
    upload = client.create_multipart_upload(name, "k").upload_id
    part = client.upload_part_copy(name, "k", upload, 1, name, "k", src_version_id=old)
    assert part.copy_source_version_id == old
    done = client.complete_multipart_upload(name, "k", upload, [part])
    assert done.version_id == tos_bucket.head("k").version_id and tos_bucket.get("k") == b"old"
    gone = client.delete_object(name, "k")
    assert gone.delete_marker and gone.version_id
    with refused("NoSuchKey", 404):
        tos_bucket.get("k")
    assert tos_bucket.get("k", version_id=new) == b"newer"
    client.delete_multi_objects(name, [ObjectTobeDeleted("k", gone.version_id), ObjectTobeDeleted("k", done.version_id)])
    assert tos_bucket.get("k") == b"newer"
    client.delete_object(name, "k", version_id=new)
    assert tos_bucket.get("k") == b"old"
    with refused("MethodNotAllowed", 405):
        client.put_bucket_rename(name, True)


def test_a_version_of_a_bucket_without_versions_is_refused(tos_bucket):
    tos_bucket.put("k", b"x")
    assert tos_bucket.get("k", version_id="null") == b"x"
    with refused("InvalidVersionId", 400):
        tos_bucket.get("k", version_id="57AF1A32CECB56721267")


def test_of_writers_that_must_not_replace_one_wins(tos_bucket):
    def write(n):
        try:
            tos_bucket.put("k", b"%d" % n, forbid_overwrite=True)
        except tos.exceptions.TosServerError as failure:
            assert failure.code == "DuplicateObject"
            return None
        return n

    with ThreadPoolExecutor(8) as pool:
        winners = [n for n in pool.map(write, range(8)) if n is not None]
    assert len(winners) == 1 and tos_bucket.get("k") == b"%d" % winners[0]
