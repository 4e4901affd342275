"""Hierarchical buckets of the TOS gateway, driven by the vendor's own SDK."""

import itertools
import threading
from datetime import datetime, timezone

import pytest
from tos.models2 import GenericInput, ObjectTobeDeleted

from tos_bucket import refused
from tos_gateway import crc64


def prefixes(bucket, prefix=""):
    page = bucket.tos.list_objects_type2(bucket.name, prefix=prefix, delimiter="/")
    assert all(one.last_modified for one in page.common_prefixes), "a directory has a time"
    return [one.prefix for one in page.common_prefixes], [one.key for one in page.contents]


def test_the_type_of_a_bucket_is_that_it_was_made_with(make_tos_bucket):
    for server in ("moto", "seaweedfs"):
        bucket = make_tos_bucket(server)
        name = bucket.name + "-hns"
        assert bucket.tos.create_bucket(name, bucket_type="hns").bucket_type == "hns"
        assert bucket.tos.head_bucket(name).bucket_type == "hns"
        assert bucket.tos.get_bucket_type(name).bucket_type == "hns"
        bucket.tos.delete_bucket(name)


def test_directories_come_with_the_first_file_and_stay_after_the_last(tos_tree):
    tos_tree.put("a/b/c", b"x")
    assert prefixes(tos_tree) == (["a/"], []) and prefixes(tos_tree, "a/b/") == ([], ["a/b/c"])
    for key in ("a", "a/", "a/b", "a/b/"):
        head = tos_tree.head(key)
        assert (head.is_directory, head.content_length) == (True, 0)
    assert not tos_tree.head("a/b/c").is_directory
    tos_tree.tos.delete_object(tos_tree.name, "a/b/c")
    assert prefixes(tos_tree, "a/") == (["a/b/"], [])
    with refused("NoSuchKey", 404):
        tos_tree.head("a/c")


def test_files_and_directories_do_not_mix(tos_tree):
    tos_tree.put("d/f", b"x")
    tos_tree.put("d/")
    with refused("DuplicateObject", 409, "0026-00000020"):
        tos_tree.head("d/f/")
    with refused("DuplicateObject", 409):
        tos_tree.put("d", b"x")
    with refused("DuplicateObject", 409):
        tos_tree.put("d/f/")
    with refused("DuplicateObject", 409, "0026-00000020"):
        tos_tree.put("d/f/g", b"x")
    with refused("ContentLengthMustBeZero", 400):
        tos_tree.put("e/", b"x")
    upload = tos_tree.tos.create_multipart_upload(tos_tree.name, "d").upload_id
    part = tos_tree.tos.upload_part(tos_tree.name, "d", upload, 1, content=b"x")
    with refused("DuplicateObject", 409):
        tos_tree.tos.complete_multipart_upload(tos_tree.name, "d", upload, [part])
    assert tos_tree.get("d/f") == b"x"


def test_a_directory_that_is_not_empty_stays(tos_tree):
    client, name = tos_tree.tos, tos_tree.name
    tos_tree.put("a/b/c", b"x")
    for key in ("a", "a/", "a/b"):
        with refused("CannotDelete", 409, "0026-00000013"):
            client.delete_object(name, key)
    # Without a trash the bucket doesn't know about deleting whole trees.
    with refused("CannotDelete", 409, "0026-00000013"):
        client.delete_object(name, "a/", recursive=True)
    gone = client.delete_multi_objects(name, [ObjectTobeDeleted(key) for key in ("a/", "a/b/c", "a/b/", "a")])
    assert [one.key for one in gone.deleted] == ["a/b/c", "a/b/", "a"]
    assert [(one.key, one.code) for one in gone.error] == [("a/", "CannotDelete")]
    assert prefixes(tos_tree) == ([], [])


def test_a_bucket_with_a_trash_deletes_trees_into_it(tos_tree):
    client, name = tos_tree.tos, tos_tree.name
    client._put_bucket_trash(name, ".Trash", 7)
    for key in ("a/b/c", "a/d", "e"):
        tos_tree.put(key, b"x")
    to = client.delete_object(name, "a/", recursive=True).trash_path
    assert to.startswith(".Trash/") and to.endswith("/a")
    assert prefixes(tos_tree) == ([".Trash/"], ["e"])
    assert tos_tree.get(to + "/b/c") == b"x"
    client.delete_object(name, to, recursive=True)
    assert prefixes(tos_tree, ".Trash/") == ([to.removesuffix("a")], [])
    assert client.delete_object(name, "e", skip_trash=True).trash_path is None
    client.delete_object(name, ".Trash", recursive=True)
    assert prefixes(tos_tree) == ([], [])


def test_files_and_directories_are_renamed(tos_tree):
    client, name = tos_tree.tos, tos_tree.name
    put = tos_tree.put("a/b/c", b"data", meta={"m": "1"})
    tos_tree.put("a/b/d/e", b"e")
    client.rename_object(name, "a/b/c", "a/c ü")
    head = tos_tree.head("a/c ü")
    assert (head.etag, head.meta, head.hash_crc64_ecma) == (put.etag, {"m": "1"}, crc64.of(b"data"))
    with refused("NoSuchKey", 404):
        client.rename_object(name, "a/b/", "x/y/b/")
    client.rename_object(name, "a/b/", "x/y/b/", recursive_mkdir=True)
    assert prefixes(tos_tree) == (["a/", "x/"], []) and tos_tree.get("x/y/b/d/e") == b"e"
    assert prefixes(tos_tree, "x/y/b/") == (["x/y/b/d/"], [])
    client.rename_object(name, "x", "z")
    assert prefixes(tos_tree) == (["a/", "z/"], []) and tos_tree.get("z/y/b/d/e") == b"e"


def test_a_renamed_thing_has_a_new_time_and_what_is_below_it_its_own(tos_tree):
    client, name = tos_tree.tos, tos_tree.name
    moment = datetime(2001, 2, 3, 4, 5, 6, tzinfo=timezone.utc)
    for key in ("a/f", "g", "h"):
        tos_tree.put(key, b"x")
        client.set_object_time(name, key, moment)
    client.rename_object(name, "a", "b")
    client.rename_object(name, "g", "g2")
    client.rename_object(name, "h", "h2", generic_input=GenericInput(request_headers={"x-not-update-timestamp": "true"}))
    assert [tos_tree.head(key).last_modified > moment for key in ("b/f", "g2", "h2")] == [False, True, False]


def test_a_directory_is_seen_to_move_at_once(tos_tree):
    files = ["f%d" % n for n in range(4)]
    for file in files:
        tos_tree.put("a/" + file, b"x")
    ended = threading.Event()

    def rename():
        for source, target in itertools.cycle([("a", "b"), ("b", "a")]):
            if ended.is_set():
                return
            tos_tree.tos.rename_object(tos_tree.name, source, target)

    renamer = threading.Thread(target=rename)
    renamer.start()
    try:
        for _ in range(20):
            keys = [key for key in tos_tree.keys() if not key.endswith("/")]
            assert keys in (["a/" + file for file in files], ["b/" + file for file in files])
    finally:
        ended.set()
        renamer.join()


def test_what_can_not_be_renamed_stays_where_it_is(tos_tree):
    client, name = tos_tree.tos, tos_tree.name
    for key in ("a/b/f", "c/g", "file"):
        tos_tree.put(key, key.encode())
    for key, to, code, status, ec in (
            ("a/b", "c", "DuplicateObject", 409, "0026-00000025"), ("a", "a/b/a", "InvalidArgument", 409, "0026-00000026"),
            ("a", "file", "InvalidSourceOrDestinationResourceType", 409, "0026-00000027"),
            ("file", "a", "InvalidSourceOrDestinationResourceType", 409, "0026-00000027"),
            ("none", "x", "NoSuchKey", 404, "0017-00000003"), ("file", "file", "InvalidArgument", 400, "0005-00000000")):
        with refused(code, status, ec):
            client.rename_object(name, key, to)
    with refused("DuplicateObject", 409, "0017-00000004"):
        client.rename_object(name, "file", "c/g", forbid_overwrite=True)
    assert [tos_tree.get(key) for key in ("a/b/f", "c/g", "file")] == [b"a/b/f", b"c/g", b"file"]
    client.rename_object(name, "file", "c/g")
    assert tos_tree.get("c/g") == b"file"


def test_the_time_of_a_file_can_be_set(tos_tree):
    tos_tree.put("d/f", b"x")
    moment = datetime(2001, 2, 3, 4, 5, 6, 789000, timezone.utc)
    tos_tree.tos.set_object_time(tos_tree.name, "d/f", moment)
    assert tos_tree.head("d/f").last_modify_timestamp == moment
    assert tos_tree.tos.list_objects_type2(tos_tree.name, prefix="d/f").contents[0].last_modified == moment
    tos_tree.put("d/f", b"y")
    assert tos_tree.head("d/f").last_modified.year > 2001
    flat = tos_tree.tos.get_file_status(tos_tree.name, "d/f")
    assert (flat.key, flat.size) == ("d/f", "1")


def test_writing_goes_on_at_the_end_of_a_file(tos_tree):
    client, name = tos_tree.tos, tos_tree.name
    first = client.append_object(name, "d/f", 0, content=b"hello ", content_length=6)
    second = client.append_object(name, "d/f", 6, content=b"world", pre_hash_crc64_ecma=first.hash_crc64_ecma)
    assert (second.next_append_offset, tos_tree.get("d/f")) == (11, b"hello world")
    for offset in (3, 12):
        with refused("OffsetNotMatched", 409):
            client.append_object(name, "d/f", offset, content=b"x")


def test_copies_of_a_directory_are_the_entry_alone(tos_tree):
    client, name = tos_tree.tos, tos_tree.name
    tos_tree.put("a/f", b"x")
    client.copy_object(name, "b/", name, "a/")
    assert prefixes(tos_tree, "b/") == ([], [])
    for to, source in (("a/f", "a/"), ("a", "a/f")):
        with refused("InvalidSourceOrDestinationResourceType", 409, "0026-00000021"):
            client.copy_object(name, to, name, source)
    client.copy_object(name, "new/dir/g", name, "a/f")
    assert tos_tree.get("new/dir/g") == b"x"


@pytest.mark.parametrize("attempt", [
    lambda client, name: client.put_symlink(name, "l", "f"), lambda client, name: client.restore_object(name, "f", 1),
    lambda client, name: client.put_bucket_rename(name, True), lambda client, name: client.get_bucket_rename(name)])
def test_what_such_a_bucket_has_not_is_refused(tos_tree, attempt):
    tos_tree.put("f", b"x")
    with refused("MethodNotAllowed", 405):
        attempt(tos_tree.tos, tos_tree.name)


def test_listings_are_by_directory(tos_tree):
    client, name = tos_tree.tos, tos_tree.name
    tos_tree.put("a/b/c", b"x")
    with refused("InvalidDelimiter", 400):
        client.list_objects_type2(name, delimiter="b")
    with refused("InvalidArgument", 400):
        client.list_objects_type2(name, fetch_meta=True)
    with refused("InvalidVersionId", 400):
        client.head_object(name, "a/b/c", version_id="null")
    assert prefixes(tos_tree, "a/") == (["a/b/"], [])
