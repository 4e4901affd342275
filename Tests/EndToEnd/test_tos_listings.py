"""Keys and listings of the TOS gateway, read by the vendor's own SDK."""

import hashlib

import pytest
from tos.enum import StorageClassType
from tos.models2 import ObjectTobeDeleted

from tos_gateway import crc64

STANDARD = StorageClassType.Storage_Class_Standard
KEYS = ["plain", "a b", "a+b", "a%20b", "ü/ñ", "x=1&y=2", "q?r#s", "(a)'b'*c!", "日本/語 ", "dot.",
        "a;b:c@d,e$f"]


@pytest.mark.parametrize("key", KEYS)
def test_keys_come_back_as_they_were(tos_bucket, key):
    tos_bucket.put(key, b"x")
    assert (tos_bucket.keys(), tos_bucket.get(key)) == ([key], b"x")
    encoded = tos_bucket.tos.list_objects_type2(tos_bucket.name, encoding_type="url").contents[0].key
    assert " " not in encoded and encoded.isascii()


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
    assert (entry.object_type, entry.storage_class, entry.owner.id != "") == ("Normal", STANDARD, True)
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
