"""Transfers in parts through the TOS gateway, by the vendor's own SDK: whole, paused, given up, resumed."""

import os
import random

import pytest
import tos
from tos.checkpoint import CancelHook
from tos.enum import CopyEventType, DownloadEventType, UploadEventType
from tos.models2 import UploadedPart

from tos_bucket import refused
from tos_gateway import crc64

PART = 5 << 20
DATA = random.Random(3).randbytes(3 * PART + 123)
PARTS = 4


@pytest.fixture
def source(tos_bucket):
    tos_bucket.tos.put_object(tos_bucket.name, "d/source ü", content=DATA, content_type="text/x")
    return tos_bucket


class Pause:
    """A listener that notes events, and cancels when the first part is done."""

    def __init__(self, kind, is_abort):
        self.kind = kind
        self.is_abort = is_abort
        self.hook = CancelHook()
        self.events = []

    def __call__(self, kind, error, *rest):
        self.events.append(kind)
        if kind == self.kind:
            self.hook.cancel(self.is_abort)


class Events:
    """A listener that notes events."""

    def __init__(self):
        self.kinds = []

    def __call__(self, kind, *rest):
        self.kinds.append(kind)


def canceled(call):
    with pytest.raises(tos.exceptions.TosClientError, match="the task is canceled"):
        call()


def test_a_download_in_parts_is_whole(source, tmp_path):
    events = Events()
    result = source.tos.download_file(source.name, "d/source ü", str(tmp_path / "f"), part_size=PART, task_num=3,
                                      download_event_listener=events)
    assert (tmp_path / "f").read_bytes() == DATA
    assert result.hash_crc64_ecma == crc64.of(DATA)
    assert events.kinds.count(DownloadEventType.Download_Event_Download_Part_Succeed) == PARTS
    assert sorted(os.listdir(tmp_path)) == ["f"]
    counts = source.counts()
    assert (counts["requests"]["GetObject"], counts["bytes_sent"]) == (PARTS, len(DATA))


def test_a_paused_download_goes_on_where_it_was(source, tmp_path):
    target = str(tmp_path / "f")
    pause = Pause(DownloadEventType.Download_Event_Download_Part_Succeed, False)
    canceled(lambda: source.tos.download_file(
        source.name, "d/source ü", target, part_size=PART, enable_checkpoint=True, cancel_hook=pause.hook,
        download_event_listener=pause))
    assert not os.path.exists(target) and len(os.listdir(tmp_path)) == 2, "temporary file and checkpoint stay"
    source.tos.download_file(source.name, "d/source ü", target, part_size=PART, enable_checkpoint=True)
    with open(target, "rb") as file:
        assert file.read() == DATA
    counts = source.counts()
    assert (counts["requests"]["GetObject"], counts["bytes_sent"]) == (PARTS, len(DATA)), "a part was fetched twice"


def test_a_download_of_an_object_that_changes_is_refused(source, tmp_path):
    pause = Pause(DownloadEventType.Download_Event_Download_Part_Succeed, False)
    canceled(lambda: source.tos.download_file(
        source.name, "d/source ü", str(tmp_path / "f"), part_size=PART, enable_checkpoint=True,
        cancel_hook=pause.hook, download_event_listener=pause))
    old = source.head("d/source ü").etag
    source.put("d/source ü", DATA[::-1])
    with refused("PreconditionFailed", 412):
        source.get("d/source ü", if_match=old, range_start=0, range_end=9)
    source.tos.download_file(source.name, "d/source ü", str(tmp_path / "f"), part_size=PART, enable_checkpoint=True)
    assert (tmp_path / "f").read_bytes() == DATA[::-1]


def test_a_link_is_downloaded_as_what_it_leads_to(source, tmp_path):
    source.tos.put_symlink(source.name, "link", "d/source ü")
    source.tos.download_file(source.name, "link", str(tmp_path / "f"), part_size=PART)
    assert (tmp_path / "f").read_bytes() == DATA


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(DATA)
    return str(path)


def test_an_upload_in_parts_is_whole(tos_bucket, file):
    events = Events()
    result = tos_bucket.tos.upload_file(tos_bucket.name, "a +ü", file, part_size=PART, task_num=3, meta={"a": "值"},
                                        upload_event_listener=events)
    head = tos_bucket.head("a +ü")
    assert (head.etag, head.hash_crc64_ecma, head.meta) == (result.etag, crc64.of(DATA), {"a": "值"})
    assert result.etag.endswith("-%d" % PARTS)
    assert tos_bucket.get("a +ü") == DATA
    assert events.kinds.count(UploadEventType.Upload_Event_Upload_Part_Succeed) == PARTS
    assert tos_bucket.counts()["bytes_received"] == len(DATA)
    assert tos_bucket.tos.list_multipart_uploads(tos_bucket.name).uploads == []


def test_a_paused_upload_goes_on_where_it_was(tos_bucket, file, tmp_path):
    pause = Pause(UploadEventType.Upload_Event_Upload_Part_Succeed, False)
    options = dict(part_size=PART, enable_checkpoint=True, checkpoint_file=str(tmp_path / "state" / "c"))
    canceled(lambda: tos_bucket.tos.upload_file(tos_bucket.name, "k", file, cancel_hook=pause.hook,
                                                upload_event_listener=pause, **options))
    assert [one.key for one in tos_bucket.tos.list_multipart_uploads(tos_bucket.name).uploads] == ["k"]
    assert tos_bucket.keys() == []
    tos_bucket.tos.upload_file(tos_bucket.name, "k", file, **options)
    assert tos_bucket.get("k") == DATA
    assert tos_bucket.counts()["bytes_received"] == len(DATA), "a part was sent twice"


def test_an_upload_that_is_given_up_leaves_nothing(tos_bucket, file):
    give_up = Pause(UploadEventType.Upload_Event_Upload_Part_Succeed, True)
    canceled(lambda: tos_bucket.tos.upload_file(tos_bucket.name, "k", file, part_size=PART, enable_checkpoint=True,
                                                cancel_hook=give_up.hook, upload_event_listener=give_up))
    assert tos_bucket.tos.list_multipart_uploads(tos_bucket.name).uploads == []
    assert tos_bucket.keys() == []


def test_a_copy_in_parts_is_whole_and_no_byte_goes_through_the_client(source, make_tos_bucket, tmp_path):
    target = make_tos_bucket(source.server)
    events = Events()
    result = source.tos.resumable_copy_object(target.name, "to", source.name, "d/source ü", part_size=PART, task_num=3,
                                              checkpoint_file=str(tmp_path / "c"), copy_event_listener=events)
    assert (result.hash_crc64_ecma, target.head("to").etag) == (crc64.of(DATA), result.etag)
    assert events.kinds.count(CopyEventType.Copy_Event_Create_Part_Copy_Succeed) == PARTS
    counts = target.counts()
    assert (counts["requests"]["UploadPartCopy"], counts["bytes_received"], counts["bytes_sent"]) == (PARTS, 0, 0)
    assert target.get("to") == DATA


def test_a_paused_copy_goes_on_where_it_was(source, tmp_path):
    pause = Pause(CopyEventType.Copy_Event_Create_Part_Copy_Succeed, False)
    options = dict(part_size=PART, enable_checkpoint=True, checkpoint_file=str(tmp_path / "c"))
    canceled(lambda: source.tos.resumable_copy_object(source.name, "to", source.name, "d/source ü", cancel_hook=pause.hook,
                                                      copy_event_listener=pause, **options))
    source.tos.resumable_copy_object(source.name, "to", source.name, "d/source ü", **options)
    assert source.get("to") == DATA
    assert source.counts()["requests"]["UploadPartCopy"] == PARTS, "a part was copied twice"
    assert source.counts()["requests"]["CreateMultipartUpload"] == 1


def test_a_copy_that_is_given_up_leaves_nothing(source, tmp_path):
    give_up = Pause(CopyEventType.Copy_Event_Create_Part_Copy_Succeed, True)
    canceled(lambda: source.tos.resumable_copy_object(
        source.name, "to", source.name, "d/source ü", part_size=PART, enable_checkpoint=True,
        checkpoint_file=str(tmp_path / "c"), cancel_hook=give_up.hook, copy_event_listener=give_up))
    assert source.tos.list_multipart_uploads(source.name).uploads == []
    assert source.keys() == ["d/source ü"]


@pytest.mark.parametrize("operation", ["download", "upload", "copy"])
def test_an_empty_object_goes_too(tos_bucket, tmp_path, operation):
    client, name = tos_bucket.tos, tos_bucket.name
    tos_bucket.put("empty")
    (tmp_path / "f").write_bytes(b"")
    if operation == "download":
        client.download_file(name, "empty", str(tmp_path / "to"), part_size=PART)
        assert (tmp_path / "to").read_bytes() == b""
        return
    if operation == "upload":
        client.upload_file(name, "to", str(tmp_path / "f"), part_size=PART)
    else:
        client.resumable_copy_object(name, "to", name, "empty", part_size=PART, checkpoint_file=str(tmp_path / "c"))
    assert (tos_bucket.get("to"), tos_bucket.head("to").hash_crc64_ecma) == (b"", 0)


def test_parts_are_checked_when_an_upload_is_completed(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    upload = client.create_multipart_upload(name, "k").upload_id
    parts = [client.upload_part(name, "k", upload, number, content=data)
             for number, data in ((2, DATA[:PART]), (5, b"small"), (7, b"last"))]

    def complete(*wanted, **facts):
        client.complete_multipart_upload(name, "k", upload, [UploadedPart(*one) for one in wanted], **facts)

    etags = {part.part_number: part.etag for part in parts}
    for wanted, code in (([(2, "0" * 32)], "InvalidPart"), ([(3, etags[2])], "InvalidPart"),
                         ([(2, etags[2]), (2, etags[2])], "InvalidPart"), ([], "MalformedBody"),
                         ([(2, etags[2]), (5, etags[5]), (7, etags[7])], "EntityTooSmall")):
        with refused(code, 400):
            complete(*wanted)
    for number in (0, 10_001):
        with refused("InvalidPartNumber", 400):
            client.upload_part(name, "k", upload, number, content=b"x")
    page = client.list_parts(name, "k", upload, max_parts=2)
    assert ([one.part_number for one in page.parts], page.is_truncated, page.next_part_number_marker) == ([2, 5], True, 5)
    page = client.list_parts(name, "k", upload, part_number_marker=5)
    assert ([(one.part_number, one.size) for one in page.parts], page.is_truncated) == ([(7, 4)], False)
    tos_bucket.put("k", b"taken")
    with refused("DuplicateObject", 409, "0017-00000004"):
        complete((2, etags[2]), (7, etags[7]), forbid_overwrite=True)
    assert tos_bucket.get("k") == b"taken"
    complete((7, etags[7]), (2, etags[2]))
    assert (tos_bucket.get("k"), tos_bucket.head("k").hash_crc64_ecma) == (DATA[:PART] + b"last", crc64.of(DATA[:PART] + b"last"))
    with refused("NoSuchUpload", 404):
        complete((2, etags[2]))
    with refused("NoSuchUpload", 404):
        client.abort_multipart_upload(name, "k", upload)


def test_all_parts_are_completed_without_a_list(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    upload = client.create_multipart_upload(name, "k").upload_id
    for number in (1, 1, 2):
        client.upload_part(name, "k", upload, number, content=DATA[:PART] if number == 1 else b"end")
    done = client.complete_multipart_upload(name, "k", upload, complete_all=True)
    assert [part.part_number for part in done.complete_parts] == [1, 2]
    assert tos_bucket.get("k") == DATA[:PART] + b"end"


def test_uploads_are_listed_by_page_and_by_directory(tos_bucket):
    client, name = tos_bucket.tos, tos_bucket.name
    ids = {}
    for key in ("a", "b/1", "b/1", "b/2", "c"):
        ids.setdefault(key, []).append(client.create_multipart_upload(name, key).upload_id)
    page = client.list_multipart_uploads(name, delimiter="/")
    assert ([one.key for one in page.uploads], [one.prefix for one in page.common_prefixes]) == (["a", "c"], ["b/"])
    found, key_marker, id_marker = [], None, None
    while True:
        page = client.list_multipart_uploads(name, max_uploads=2, key_marker=key_marker, upload_id_marker=id_marker)
        found += [(one.key, one.upload_id) for one in page.uploads]
        if not page.is_truncated:
            break
        key_marker, id_marker = page.next_key_marker, page.next_upload_id_marker
    assert found == [(key, id) for key in ids for id in sorted(ids[key])]
