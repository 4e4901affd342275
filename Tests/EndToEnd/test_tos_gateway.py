"""The TOS gateway, driven by the vendor's own SDK: objects, listings, copies, metadata."""

import base64
import hashlib
import http.client
import io
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest
import tos
from tos.enum import (ACLType, MetadataDirectiveType, StorageClassType, TaggingDirectiveType, TierType,
                      VersioningStatusType)
from tos.models2 import GenericInput, ObjectTobeDeleted, RestoreJobParameters, Tag

from conftest import wait_for
from tos_bucket import REGION, port_of, refused
from tos_gateway import crc64

KEYS = ["plain", "a b", "a+b", "a%20b", "ü/ñ", "x=1&y=2", "q?r#s", "(a)'b'*c!", "日本/語 ", "dot.", "a;b:c@d,e$f"]


def test_what_is_put_is_got_with_all_that_describes_it(tos_bucket):
    data = random.Random(1).randbytes(300_000)
    expires = datetime(2030, 1, 2, 3, 4, 5, tzinfo=timezone.utc)
    put = tos_bucket.put(
        "d/k", data, content_type="text/x", cache_control="no-cache", content_disposition='attachment; filename="ü"',
        content_encoding="identity", content_language="en", expires=expires, meta={"name": "值 1", "Other": "2"},
        content_md5=base64.b64encode(hashlib.md5(data).digest()).decode(), storage_class=StorageClassType.Storage_Class_Ia,
        tagging="a=1&b=")
    assert (put.etag, put.hash_crc64_ecma) == (hashlib.md5(data).hexdigest(), crc64.of(data))
    for seen in (tos_bucket.head("d/k"), tos_bucket.tos.get_object(tos_bucket.name, "d/k")):
        assert (seen.etag, seen.hash_crc64_ecma, seen.content_length) == (put.etag, put.hash_crc64_ecma, len(data))
        assert (seen.content_type, seen.cache_control, seen.content_encoding) == ("text/x", "no-cache", "identity")
        assert (seen.content_disposition, seen.content_language) == ('attachment; filename="ü"', "en")
        assert (seen.expires, seen.meta) == (expires, {"name": "值 1", "other": "2"})
        assert seen.version_id is None
        assert (seen.storage_class, seen.object_type, seen.tagging_count) == (StorageClassType.Storage_Class_Ia, "Normal", 2)
        assert abs(datetime.now(timezone.utc) - seen.last_modified) < timedelta(minutes=1)
    assert tos_bucket.get("d/k") == data
    behind = tos_bucket.s3.get_object(Bucket=tos_bucket.name, Key="d/k")
    assert (behind["Body"].read(), behind["ContentType"]) == (data, "text/x")


def test_what_an_s3_client_put_is_there_and_what_it_replaced_is_not(tos_bucket):
    tos_bucket.put("k", b"old", meta={"a": "1"}, storage_class=StorageClassType.Storage_Class_Ia)
    tos_bucket.s3.put_object(Bucket=tos_bucket.name, Key="k", Body=b"newer", Metadata={"b": "2"})
    head = tos_bucket.head("k")
    assert (head.meta, head.content_length, head.hash_crc64_ecma) == ({"b": "2"}, 5, crc64.of(b"newer"))
    assert head.storage_class == StorageClassType.Storage_Class_Standard
    assert tos_bucket.get("k") == b"newer"


@pytest.mark.parametrize("key", KEYS)
def test_keys_come_back_as_they_were(tos_bucket, key):
    tos_bucket.put(key, b"x")
    assert (tos_bucket.keys(), tos_bucket.get(key)) == ([key], b"x")
    encoded = tos_bucket.tos.list_objects_type2(tos_bucket.name, encoding_type="url").contents[0].key
    assert " " not in encoded and encoded.isascii()


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


def test_listings_by_page_and_by_directory(tos_bucket):
    names = ["a/1", "a/2", "b", "c/d/e", "c/f", "g"]
    for name in names:
        tos_bucket.put(name, name.encode())
    client, bucket = tos_bucket.tos, tos_bucket.name
    page = client.list_objects_type2(bucket, delimiter="/")
    assert ([one.key for one in page.contents], [one.prefix for one in page.common_prefixes]) == (["b", "g"], ["a/", "c/"])
    assert (page.key_count, page.is_truncated, page.name) == (4, False, bucket)
    entry = page.contents[0]
    assert (entry.etag, entry.size, entry.hash_crc64_ecma) == (hashlib.md5(b"b").hexdigest(), 1, crc64.of(b"b"))
    assert (entry.object_type, entry.storage_class, entry.owner.id != "") == ("Normal", StorageClassType.Storage_Class_Standard, True)
    assert tos_bucket.keys("c/") == ["c/d/e", "c/f"] and tos_bucket.keys(start_after="b") == ["c/d/e", "c/f", "g"]

    found, token, pages = [], None, 0
    while True:
        page = client.list_objects_type2(bucket, max_keys=2, continuation_token=token, list_only_once=True)
        found += [one.key for one in page.contents]
        pages += 1
        if not page.is_truncated:
            break
        token = page.next_continuation_token
        assert set("+/=") <= set(token), "a token must need encoding"
    assert (found, pages) == (names, 3)

    found, marker = [], None
    while True:
        page = client.list_objects(bucket, max_keys=2, marker=marker, delimiter="/")
        found += [one.key for one in page.contents] + [one.prefix for one in page.common_prefixes]
        if not page.is_truncated:
            break
        marker = page.next_marker
    assert sorted(found) == ["a/", "b", "c/", "g"]


def test_pages_may_be_short_and_even_empty(tos_bucket):
    names = ["k%d" % n for n in range(5)]
    for name in names:
        tos_bucket.put(name)
    tos_bucket.set(page_size=2, empty_pages=True)
    sizes, token = [], None
    while True:
        page = tos_bucket.tos.list_objects_type2(tos_bucket.name, continuation_token=token, list_only_once=True)
        sizes.append(len(page.contents))
        token = page.next_continuation_token
        if not page.is_truncated:
            break
    assert sizes == [0, 2, 0, 2, 0, 1]
    assert tos_bucket.keys() == names


def test_a_listing_with_metadata(tos_bucket):
    tos_bucket.put("k", b"x", meta={"a": "值"})
    entry = tos_bucket.tos.list_objects_type2(tos_bucket.name, fetch_meta=True).contents[0]
    assert entry.meta == {"a": "值"}


def test_deleting_many_says_which_it_could_not(tos_bucket):
    for key in ("a", "b", "ü +"):
        tos_bucket.put(key)
    gone = tos_bucket.tos.delete_multi_objects(
        tos_bucket.name, [ObjectTobeDeleted(key) for key in ("a", "ü +", "never", "x" * 1025)])
    assert [one.key for one in gone.deleted] == ["a", "ü +", "never"]
    assert [(one.key, one.code) for one in gone.error] == [("x" * 1025, "KeyTooLong")]
    quiet = tos_bucket.tos.delete_multi_objects(tos_bucket.name, [ObjectTobeDeleted("b")], quiet=True)
    assert (quiet.deleted, quiet.error, tos_bucket.keys()) == ([], [], [])
    assert tos_bucket.tos.delete_object(tos_bucket.name, "never").status_code == 204


def test_copies_carry_metadata_or_replace_it(tos_bucket, make_tos_bucket):
    other = make_tos_bucket(tos_bucket.server)
    source = tos_bucket.put("a b/ü+%", b"data", content_type="text/x", meta={"a": "1"}, tagging="t=1")
    client = other.tos
    copy = client.copy_object(other.name, "copy", tos_bucket.name, "a b/ü+%", copy_source_if_match=source.etag)
    assert (copy.etag, copy.last_modified.tzinfo is None) == (source.etag, False)
    head = other.head("copy")
    assert (head.meta, head.content_type, head.hash_crc64_ecma, head.tagging_count) == (
        {"a": "1"}, "text/x", crc64.of(b"data"), 1)
    client.copy_object(other.name, "changed", other.name, "copy", metadata_directive=MetadataDirectiveType.Metadata_Directive_Replace,
                       meta={"b": "2"}, content_type="text/y", tagging="u=1&v=2",
                       tagging_directive=TaggingDirectiveType.TaggingDirectiveTypeReplace)
    head = other.head("changed")
    assert (head.meta, head.content_type, head.tagging_count) == ({"b": "2"}, "text/y", 2)
    client.copy_object(other.name, "copy", other.name, "copy", metadata_directive=MetadataDirectiveType.Metadata_Directive_Replace,
                       meta={"c": "3"})
    assert (other.head("copy").meta, other.get("copy")) == ({"c": "3"}, b"data")


def test_conditions_on_the_source_of_a_copy(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    etag = tos_bucket.put("k", b"x" * 10).etag
    past = datetime.now(timezone.utc) - timedelta(days=1)
    upload = client.create_multipart_upload(name, "to").upload_id
    for facts in ({"copy_source_if_match": "other"}, {"copy_source_if_none_match": etag},
                  {"copy_source_if_unmodified_since": past}):
        with refused("PreconditionFailed", 412):
            client.copy_object(name, "to", name, "k", **facts)
        with refused("PreconditionFailed", 412):
            client.upload_part_copy(name, "to", upload, 1, name, "k", **facts)
    for copy in (lambda: client.copy_object(name, "to", name, "none"),
                 lambda: client.upload_part_copy(name, "to", upload, 1, name, "none")):
        with refused("NoSuchKey", 404, "0017-00000003"):
            copy()
    with refused("NoSuchBucket", 404, "0006-00000001"):
        client.copy_object(name, "to", "no-such-bucket", "k")
    assert tos_bucket.keys() == ["k"]


def test_metadata_changes_in_place(tos_bucket):
    before = tos_bucket.put("k", b"data", content_type="text/x", meta={"a": "1", "b": "2"})
    old = tos_bucket.head("k")
    tos_bucket.tos.set_object_meta(tos_bucket.name, "k", meta={"b": "值", "c": "4"}, content_type="text/y")
    head = tos_bucket.head("k")
    assert (head.meta, head.content_type) == ({"a": "1", "b": "值", "c": "4"}, "text/y")
    assert (head.etag, head.last_modified, head.hash_crc64_ecma) == (before.etag, old.last_modified, before.hash_crc64_ecma)
    # The SDK can't say that the rest goes; the protocol can.
    tos_bucket.tos.set_object_meta(tos_bucket.name, "k", meta={"d": "5"}, generic_input=GenericInput(
        request_headers={"x-tos-metadata-directive": "REPLACE"}))
    assert tos_bucket.head("k").meta == {"d": "5"}
    with refused("NoSuchKey", 404):
        tos_bucket.tos.set_object_meta(tos_bucket.name, "none", meta={"a": "1"})


def test_the_state_of_a_name_is_told_in_one_request(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    tos_bucket.put("d/e/f", b"data")
    tos_bucket.put("file", b"x")
    file = client.get_file_status(name, "file")
    assert (file.key, file.size, file.etag, file.crc64) == ("file", 1, hashlib.md5(b"x").hexdigest(), str(crc64.of(b"x")))
    assert client.get_file_status(name, "d").key == "d/e/f" and client.get_file_status(name, "d/e/").key == "d/e/f"
    for key in ("d/e/f/g", "no", "fil"):
        with refused("NoSuchKey", 404):
            client.get_file_status(name, key)


def test_symlinks_lead_to_their_target(tos_bucket, make_tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    other = make_tos_bucket(tos_bucket.server)
    target = other.put("d/ü +", b"data", storage_class=StorageClassType.Storage_Class_Ia)
    client.put_symlink(name, "link", "d/ü +", other.name)
    link = client.get_symlink(name, "link")
    assert (link.symlink_target_key, link.symlink_target_bucket) == ("d/ü +", other.name)
    head = tos_bucket.head("link")
    assert (head.object_type, head.symlink_target_size) == ("Symlink", 4)
    assert (head.etag, head.hash_crc64_ecma, head.storage_class) == (
        target.etag, target.hash_crc64_ecma, StorageClassType.Storage_Class_Ia)
    assert tos_bucket.get("link", if_match=target.etag) == b"data"
    assert tos_bucket.get("link", range_start=1, range_end=2) == b"at"
    assert [one.object_type for one in client.list_objects_type2(name).contents] == ["Symlink"]
    with refused("DuplicateObject", 409):
        client.put_symlink(name, "link", "x", forbid_overwrite=True)
    # With metadata the SDK encodes the target twice, so that only a plain one can be given.
    client.put_symlink(name, "described", "link", meta={"a": "1"})
    assert (tos_bucket.head("described").meta, tos_bucket.get("described")) == ({"a": "1"}, b"data")
    client.put_symlink(name, "loop", "loop")
    with refused("InvalidArgument", 400):
        tos_bucket.get("loop")
    other.tos.delete_object(other.name, "d/ü +")
    with refused("NoSuchKey", 404):
        tos_bucket.get("link")


def test_archived_objects_are_readable_only_after_they_are_restored(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    tos_bucket.set(restore_seconds=3600.0)
    tos_bucket.put("k", b"cold", storage_class=StorageClassType.Storage_Class_Archive)
    assert (tos_bucket.head("k").storage_class, tos_bucket.head("k").restore) == (StorageClassType.Storage_Class_Archive, None)
    for attempt in (lambda: tos_bucket.get("k"), lambda: client.copy_object(name, "to", name, "k"),
                    lambda: client.set_object_meta(name, "k", meta={"a": "1"})):
        with refused("InvalidObjectState", 403):
            attempt()
    started = client.restore_object(name, "k", 3, restore_job_parameters=RestoreJobParameters(TierType.Tier_Standard))
    head = tos_bucket.head("k")
    assert (started.status_code, head.restore, head.restore_expiry_days, head.restore_tier) == (
        202, 'ongoing-request="true"', 3, TierType.Tier_Standard)
    with refused("InvalidObjectState", 403):
        tos_bucket.get("k")
    with refused("RestoreAlreadyInProgress", 409):
        client.restore_object(name, "k", 3)
    tos_bucket.set(restore_seconds=0.0)
    tos_bucket.put("soon", b"cold", storage_class=StorageClassType.Storage_Class_Cold_Archive)
    client.restore_object(name, "soon", 1)
    wait_for(lambda: 'ongoing-request="false", expiry-date=' in tos_bucket.head("soon").restore, "the restored copy")
    assert tos_bucket.get("soon") == b"cold"
    assert client.restore_object(name, "soon", 5).status_code == 200
    with refused("InvalidObjectState", 403):
        tos_bucket.put("warm", b"x")
        client.restore_object(name, "warm", 1)


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


def test_renaming_is_for_buckets_that_have_it_and_objects_made_since(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    tos_bucket.put("old", b"old")
    with refused("MethodNotAllowed", 405):
        client.rename_object(name, "old", "new")
    wait_for(lambda: datetime.now(timezone.utc) - tos_bucket.head("old").last_modified > timedelta(seconds=3), "some age")
    assert client.get_bucket_rename(name).rename_enable is False
    client.put_bucket_rename(name, True)
    assert client.get_bucket_rename(name).rename_enable is True
    with refused("MethodNotAllowed", 405):
        client.rename_object(name, "old", "new")
    put = tos_bucket.put("a ü+", b"data", content_type="text/x", meta={"a": "1"}, tagging="t=1")
    assert client.rename_object(name, "a ü+", "b/ñ %").status_code == 204
    head = tos_bucket.head("b/ñ %")
    assert (head.etag, head.meta, head.content_type, head.tagging_count, head.hash_crc64_ecma) == (
        put.etag, {"a": "1"}, "text/x", 1, put.hash_crc64_ecma)
    tos_bucket.put("taken", b"taken")
    with refused("DuplicateObject", 409):
        client.rename_object(name, "b/ñ %", "taken", forbid_overwrite=True)
    with refused("InvalidArgument", 400):
        client.rename_object(name, "taken", "taken")
    with refused("NoSuchKey", 404):
        client.rename_object(name, "a ü+", "x")
    client.rename_object(name, "b/ñ %", "taken")
    assert (tos_bucket.keys(), tos_bucket.get("taken")) == (["old", "taken"], b"data")
    client.delete_bucket_rename(name)
    with refused("MethodNotAllowed", 405):
        client.rename_object(name, "taken", "x")


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


def test_tags_and_access_lists(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    tos_bucket.put("k", b"x", acl=ACLType.ACL_Public_Read)
    client.put_object_tagging(name, "k", [Tag("a", "1"), Tag("b", "")])
    assert [(tag.key, tag.value) for tag in client.get_object_tagging(name, "k").tag_set] == [("a", "1"), ("b", "")]
    client.delete_object_tagging(name, "k")
    assert client.get_object_tagging(name, "k").tag_set == []
    assert len(client.get_object_acl(name, "k").grants) == 2
    client.put_object_acl(name, "k", acl=ACLType.ACL_Private)
    assert len(client.get_object_acl(name, "k").grants) == 1


def test_buckets(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    head = client.head_bucket(name)
    assert (head.region, head.bucket_type) == (REGION, "fns")
    assert client.get_bucket_location(name).region == REGION
    assert client.get_bucket_info(name).bucket_info.bucket_type == "fns"
    assert name in [bucket.name for bucket in client.list_buckets().buckets]
    with refused("BucketAlreadyOwnedByYou", 409):
        client.create_bucket(name)
    tos_bucket.put("k")
    with refused("BucketNotEmpty", 409):
        client.delete_bucket(name)
    client.delete_object(name, "k")
    client.delete_bucket(name)
    for attempt in (lambda: client.head_bucket(name), lambda: tos_bucket.put("k"), lambda: tos_bucket.get("k"),
                    lambda: tos_bucket.keys(), lambda: tos_bucket.head("k")):
        with refused("NoSuchBucket", 404, "0006-00000001"):
            attempt()


def test_counts_are_those_of_the_bucket_alone(tos_bucket):
    data = bytes(100_000)
    tos_bucket.put("k", io.BytesIO(data))
    tos_bucket.get("k", range_start=10, range_end=19)
    tos_bucket.get("k")
    tos_bucket.keys()
    tos_bucket.tos.copy_object(tos_bucket.name, "to", tos_bucket.name, "k")
    with refused("NoSuchKey", 404):
        tos_bucket.get("none")
    assert tos_bucket.counts() == {
        "requests": {"PutObject": 1, "GetObject": 3, "ListObjectsType2": 1, "CopyObject": 1},
        "errors": {"NoSuchKey": 1}, "bytes_received": 100_000, "bytes_sent": 100_010}


def test_what_the_gateway_does_not_know_is_refused(tos_bucket):
    with refused("NotImplemented", 501):
        tos_bucket.tos.get_bucket_cors(tos_bucket.name)


def test_a_bucket_in_the_path_is_for_addresses_alone(tos_bucket):
    def status(host, path):
        connection = http.client.HTTPConnection("127.0.0.1", port_of(tos_bucket.endpoint), timeout=10)
        connection.request("GET", path, headers={"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read()

    code, body = status("tos-%s.volces.com" % REGION, "/%s/k" % tos_bucket.name)
    assert code == 403 and b"InvalidPathAccess" in body
    tos_bucket.set(acl="public-read")
    tos_bucket.put("k", b"data")
    for host, path in (("127.0.0.1:80", "/%s/k" % tos_bucket.name), ("%s.tos-%s.localhost" % (tos_bucket.name, REGION), "/k")):
        assert status(host, path) == (200, b"data")
