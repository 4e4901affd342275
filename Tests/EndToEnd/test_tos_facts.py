"""Copies, renaming, metadata, links and archives of the TOS gateway, driven by the vendor's own SDK."""

import hashlib
from datetime import datetime, timedelta, timezone

from tos.enum import ACLType, MetadataDirectiveType, StorageClassType, TaggingDirectiveType, TierType
from tos.models2 import GenericInput, RestoreJobParameters, Tag

from conftest import wait_for
from tos_bucket import refused
from tos_gateway import crc64

REPLACE = MetadataDirectiveType.Metadata_Directive_Replace
COLD_ARCHIVE = StorageClassType.Storage_Class_Cold_Archive
ARCHIVE = StorageClassType.Storage_Class_Archive
IA = StorageClassType.Storage_Class_Ia


def test_copies_carry_metadata_or_replace_it(tos_bucket, make_tos_bucket):
    other = make_tos_bucket(tos_bucket.server)
    source = tos_bucket.put("a b/ü+%", b"data", content_type="text/x", meta={"a": "1"}, tagging="t=1")
    client = other.tos
    copy = client.copy_object(other.name, "copy", tos_bucket.name, "a b/ü+%", copy_source_if_match=source.etag)
    assert (copy.etag, copy.last_modified.tzinfo is None) == (source.etag, False)
    head = other.head("copy")
    assert (head.meta, head.content_type, head.hash_crc64_ecma, head.tagging_count) == (
        {"a": "1"}, "text/x", crc64.of(b"data"), 1)
    client.copy_object(other.name, "changed", other.name, "copy", metadata_directive=REPLACE,
                       meta={"b": "2"}, content_type="text/y", tagging="u=1&v=2",
                       tagging_directive=TaggingDirectiveType.TaggingDirectiveTypeReplace)
    head = other.head("changed")
    assert (head.meta, head.content_type, head.tagging_count) == ({"b": "2"}, "text/y", 2)
    client.copy_object(other.name, "copy", other.name, "copy", metadata_directive=REPLACE,
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
    target = other.put("d/ü +", b"data", storage_class=IA)
    client.put_symlink(name, "link", "d/ü +", other.name)
    link = client.get_symlink(name, "link")
    assert (link.symlink_target_key, link.symlink_target_bucket) == ("d/ü +", other.name)
    head = tos_bucket.head("link")
    assert (head.object_type, head.symlink_target_size) == ("Symlink", 4)
    assert (head.etag, head.hash_crc64_ecma, head.storage_class) == (
        target.etag, target.hash_crc64_ecma, IA)
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
    tos_bucket.put("k", b"cold", storage_class=ARCHIVE)
    assert (tos_bucket.head("k").storage_class, tos_bucket.head("k").restore) == (ARCHIVE, None)
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
    tos_bucket.put("soon", b"cold", storage_class=COLD_ARCHIVE)
    client.restore_object(name, "soon", 1)
    wait_for(lambda: 'ongoing-request="false", expiry-date=' in tos_bucket.head("soon").restore, "the restored copy")
    assert tos_bucket.get("soon") == b"cold"
    assert client.restore_object(name, "soon", 5).status_code == 200
    with refused("InvalidObjectState", 403):
        tos_bucket.put("warm", b"x")
        client.restore_object(name, "warm", 1)


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
