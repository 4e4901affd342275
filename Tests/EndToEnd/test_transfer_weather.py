"""What happens to `get`, `put` and `cp` besides a request that fails: sources that change, disks that
fill up, checkpoints that are damaged, credentials that end, clocks that are wrong."""

import contextlib
import os
import signal
import subprocess
import time

import pytest

from programs import one_sentence, run, wait_for
from tos_bucket import ask
from transfers import COMMANDS, KINDS, MIB, OLD, PART, RESUMABLE, content

DATA = content(3 * PART)
UPLOADS = ("put", "cp")


@pytest.mark.parametrize("command", UPLOADS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_second_task_on_one_checkpoint_is_told_who_has_it(make_place, kind, command):
    place = make_place(kind, DATA)
    place.proxy.rules = [place.part_rule(command, skip=1, hole=True)]
    first = place.start(command, "--parallel", "1")
    wait_for(lambda: len(place.recorded()) == 1, "a part", 60)
    since = place.proxy.mark()
    second = place.run(command, "--parallel", "1")
    assert second.returncode == 4 and str(first.pid) in one_sentence(second.stderr)
    assert place.parts(since) == [] and len(place.uploads()) == 1


@pytest.mark.parametrize("kind", RESUMABLE)
def test_a_source_that_is_replaced_in_the_middle_of_a_copy_is_not_mixed(make_place, kind):
    place = make_place(kind, DATA)
    place.make_old("cp")
    place.stop_after("cp", 1, signal.SIGINT)
    place.bucket.put("from", DATA[::-1])
    result = place.run("cp")
    assert result.returncode == 3 and "--force-restart" in one_sentence(result.stderr)
    assert place.object("to") == OLD
    assert place.run("cp", "--force-restart").returncode == 0
    assert place.object("to") == DATA[::-1] and place.uploads() == [] and place.leftovers() == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_that_is_replaced_while_a_copy_runs_is_not_mixed(make_place, kind):
    place = make_place(kind, DATA)
    place.make_old("cp")

    def replace(status, fields, body):
        place.bucket.put("from", DATA[::-1])
        return status, fields, body

    place.proxy.rules = [place.part_rule("cp", times=1, rewrite=replace)]
    result = place.run("cp", "--parallel", "1")
    assert result.returncode == 3 and one_sentence(result.stderr)
    assert place.object("to") == OLD


@pytest.mark.parametrize("kind", RESUMABLE)
def test_a_file_that_changes_in_the_middle_of_an_upload_is_not_mixed(make_place, kind):
    place = make_place(kind, DATA)
    place.make_old("put")
    place.stop_after("put", 1, signal.SIGINT)
    place.file.write_bytes(place.data[::-1])
    result = place.run("put")
    assert result.returncode == 3 and "--force-restart" in one_sentence(result.stderr)
    assert place.object("to") == OLD

    def change(status, fields, body):
        place.file.write_bytes(place.data[::-1] + b"more")
        return status, fields, body

    place.proxy.rules = [place.part_rule("put", times=1, rewrite=change)]
    result = place.run("put", "--force-restart", "--parallel", "1")
    assert result.returncode == 3 and place.object("to") == OLD


@pytest.mark.parametrize("kind", RESUMABLE)
def test_a_source_that_is_deleted_ends_a_copy(make_place, kind):
    place = make_place(kind, DATA)
    place.make_old("cp")
    place.stop_after("cp", 1, signal.SIGINT)
    place.bucket.s3.delete_object(Bucket=place.bucket.name, Key="from")
    result = place.run("cp")
    assert result.returncode == 1 and "from" in one_sentence(result.stderr)
    # Nothing can come of its parts.
    assert place.object("to") == OLD and place.uploads() == [] and place.leftovers() == []


def test_a_file_that_is_deleted_ends_an_upload(make_place):
    place = make_place("seaweedfs", DATA)
    place.make_old("put")
    place.stop_after("put", 1, signal.SIGINT)
    os.remove(place.file)
    result = place.run("put")
    assert result.returncode == 1 and str(place.file) in one_sentence(result.stderr)
    assert place.object("to") == OLD
    assert place.run("put", "--abort").returncode == 0
    assert place.uploads() == [] and place.leftovers() == []


def test_a_target_directory_that_is_removed_ends_a_download(make_place):
    place = make_place("seaweedfs", DATA)
    place.target = place.directory / "out" / "target"
    place.target.parent.mkdir()
    place.proxy.rules = [place.part_rule("get", skip=1, rate=2 * MIB)]
    process = place.start("get", "--parallel", "1")
    wait_for(lambda: len(place.recorded()) > 0, "some of it", 60)
    for name in place.leftovers():
        os.remove(name)
    place.target.parent.rmdir()
    _, message = process.communicate(timeout=60)
    assert process.returncode == 1 and str(place.target.parent) in one_sentence(message)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 KiB; `resize` makes it another size."""
    path = tmp_path / "small"
    path.mkdir()

    class Disk:
        def __init__(self):
            self.path = path
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(path)], check=True)

        def resize(self, size):
            subprocess.run(["mount", "-o", "remount,size=%s" % size, str(path)], check=True)

        def fill(self):
            ballast = os.open(path / "ballast", os.O_CREAT | os.O_WRONLY)
            with contextlib.suppress(OSError):
                while True:
                    os.write(ballast, bytes(4096))
            os.close(ballast)

    yield Disk()
    subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_download_onto_a_full_disk_goes_on_when_there_is_room(make_place, small_disk):
    place = make_place("seaweedfs", DATA)
    place.target = small_disk.path / "target"
    place.target.write_bytes(OLD)
    small_disk.resize("8m")
    result = place.run("get", "--parallel", "1")
    assert result.returncode == 1 and "No space left on device" in one_sentence(result.stderr)
    assert place.target.read_bytes() == OLD
    small_disk.resize("64m")
    assert place.run("get", "--parallel", "1").returncode == 0
    assert place.target.read_bytes() == DATA
    assert sorted(os.listdir(small_disk.path)) == ["target"]
    assert place.fetched() < len(DATA) + PART, "what fitted was fetched again"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
@pytest.mark.parametrize("command", UPLOADS)
def test_an_upload_that_cannot_be_recorded_is_not_begun(make_place, small_disk, command):
    place = make_place("seaweedfs", DATA)
    checkpoint = ["--checkpoint", str(small_disk.path / "checkpoint")]
    small_disk.fill()
    result = place.run(command, *checkpoint)
    assert result.returncode == 1 and "No space left on device" in one_sentence(result.stderr)
    assert place.uploads() == [] and place.object("to") is None
    assert os.listdir(small_disk.path) == ["ballast"]
    os.remove(small_disk.path / "ballast")
    assert place.run(command, *checkpoint).returncode == 0
    assert place.object("to") == DATA and os.listdir(small_disk.path) == []


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("damage", ["garbage", "cut in the head", "cut in a line", "empty", "another version"])
def test_a_damaged_checkpoint_is_noticed(make_place, command, damage):
    place = make_place("seaweedfs", DATA)
    place.make_old(command)
    place.stop_after(command, 2, signal.SIGINT)
    path = place.checkpoint()
    with open(path, "rb") as file:
        text = file.read()
    head = text.index(b"parts\n" if command != "get" else b"ranges\n")
    with open(path, "wb") as file:
        file.write({"garbage": os.urandom(300), "cut in the head": text[: head - 10], "cut in a line": text[:-5],
                    "empty": b"", "another version": text.replace(b"checkpoint 1", b"checkpoint 99", 1)}[damage])
    since = place.proxy.mark()
    result = place.run(command)
    if damage == "another version":
        assert result.returncode == 1 and "99" in one_sentence(result.stderr)
        assert place.result(command) == OLD
        result = place.run(command, "--force-restart")
    assert result.returncode == 0, result
    if damage in ("garbage", "cut in the head", "empty"):
        assert "starting over" in one_sentence(result.stderr)
    assert place.result(command) == DATA and place.leftovers() == []
    if damage == "cut in a line":
        # The part whose line is torn counts as not sent; of a download a unit is fetched again.
        fetched = place.parts(since) if command != "get" else place.fetched(since)
        assert fetched < 2 * PART if command == "get" else len(fetched) == 2


@pytest.mark.parametrize("kind", RESUMABLE)
def test_a_checkpoint_of_another_task_is_not_touched(make_place, kind):
    place = make_place(kind, DATA)
    checkpoint = ["--checkpoint", str(place.directory / "one.checkpoint")]
    place.stop_after("put", 1, signal.SIGINT, *checkpoint)
    with open(place.directory / "one.checkpoint") as file:
        text = file.read()
    # A copy that is told to start over gives the upload up; a download doesn't know how.
    for command, options in [("cp", []), ("cp", ["--abort"]), ("get", []), ("get", ["--abort"]), ("get", ["--force-restart"])]:
        result = place.run(command, *checkpoint, *options)
        assert result.returncode == 1 and "kind" in one_sentence(result.stderr), (command, options, result)
    with open(place.directory / "one.checkpoint") as file:
        assert file.read() == text
    assert len(place.uploads()) == 1
    assert place.run("put", *checkpoint).returncode == 0
    place.assert_done("put")


@pytest.mark.parametrize("damage", ["gone", "short", "tampered"])
def test_temporary_bytes_that_are_not_right_are_fetched_again(make_place, damage):
    place = make_place("seaweedfs", DATA)
    place.stop_after("get", 2, signal.SIGINT)
    path = str(place.target) + ".dipper-part"
    if damage == "gone":
        os.remove(path)
    elif damage == "short":
        os.truncate(path, PART + 17)
    else:
        with open(path, "r+b") as file:
            file.seek(PART + 5)
            file.write(b"tampered")
    assert place.run("get").returncode == 0
    place.assert_done("get")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["tos", "tos-tree"])
def test_credentials_that_end_in_the_middle_are_replaced_by_fresh_ones(make_place, kind, command):
    place = make_place(kind, DATA)
    place.make_old(command)
    gateway = place.bucket.endpoint

    def keys(name, **facts):
        ask(gateway, "PUT", "keys/" + name, {"secret": "s-" + name, "token": "t-" + name, **facts})
        return {"TOS_ACCESS_KEY": name, "TOS_SECRET_KEY": "s-" + name, "TOS_SECURITY_TOKEN": "t-" + name}

    first = keys("AKFIRST")

    def expire(status, fields, body):
        keys("AKFIRST", expires_in=-1)
        return status, fields, body

    place.proxy.rules = [place.part_rule(command, skip=1, times=1, rewrite=expire)]
    result = place.run(command, "--parallel", "1", environment=first)
    assert result.returncode == 1 and "ExpiredToken" in one_sentence(result.stderr), result
    assert "s-AKFIRST" not in result.stderr and "t-AKFIRST" not in result.stderr
    assert place.result(command) == OLD
    with open(place.checkpoint()) as file:
        assert "AKFIRST" not in file.read()
    since = place.proxy.mark()
    assert place.run(command, "--parallel", "1", environment=keys("AKSECOND")).returncode == 0
    assert place.parts(since) == [3], "finished parts were moved again"
    place.assert_done(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_credentials_that_end_are_told_and_resumed_at_s3(make_place, command):
    place = make_place("seaweedfs", DATA)
    place.proxy.rules = [place.part_rule(command, skip=1, **place.refusal("ExpiredToken", 400))]
    result = place.run(command, "--parallel", "1")
    assert result.returncode == 1 and "ExpiredToken" in one_sentence(result.stderr)
    place.proxy.rules = []
    since = place.proxy.mark()
    assert place.run(command, "--parallel", "1").returncode == 0
    assert place.parts(since) == [2, 3]
    place.assert_done(command)


@pytest.mark.parametrize("hours", [-2, 2])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["tos", "tos-tree"])
def test_a_clock_that_is_wrong_is_corrected_by_the_stores(make_place, kind, command, hours):
    place = make_place(kind, DATA)
    place.bucket.set(clock_offset=hours * 3600.0)
    try:
        result = place.run(command)
    finally:
        place.bucket.set(clock_offset=0.0)
    assert result.returncode == 0 and "clock" in one_sentence(result.stderr)
    refused = [entry for entry in place.proxy.log if entry["status"] == 403]
    assert 1 <= len(refused) <= 2, "each request learned it anew"
    place.assert_done(command)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_throttled_part_waits_as_long_as_it_is_told(make_place, kind, command):
    place = make_place(kind, DATA)
    refusal = place.refusal("ExceedBucketQPSLimit" if place.is_tos else "SlowDown", 429)
    refusal["headers"] = {**refusal["headers"], "retry-after": "2"}
    place.proxy.rules = [place.part_rule(command, times=1, **refusal)]
    assert place.run(command, "--parallel", "1").returncode == 0
    times = [entry["time"] for entry in place.proxy.log if place.is_part(entry)]
    assert times[1] - times[0] >= 2
    place.assert_done(command)


@pytest.mark.parametrize("command", UPLOADS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_lost_answer_to_a_completion_is_settled_by_a_look(make_place, kind, command):
    place = make_place(kind, DATA)
    place.make_old(command)
    place.proxy.rules = [place.completion_rule(times=1, lose_answer=True)]
    result = place.run(command)
    assert (result.returncode, result.stderr) == (0, "")
    place.assert_done(command)
    assert sorted(place.parts()) == [1, 2, 3]


@pytest.mark.parametrize("kind", RESUMABLE)
def test_an_error_inside_an_answer_200_is_one(make_place, kind):
    place = make_place(kind, DATA)
    place.make_old("cp")
    hidden = place.refusal("InternalError", 200)
    where = {"a part": place.part_rule("cp"), "the end": place.completion_rule(),
             "a whole copy": {"method": "PUT", "headers": "x-(amz|tos)-copy-source: "}}
    for name, rule in where.items():
        command = place.words("cp") if name != "a whole copy" else [
            word for word in place.words("cp") if word not in ("--part-size", "5M")]
        place.proxy.rules = [{**rule, "times": 1, **hidden}]
        assert run(command, environment=place.environment()).returncode == 0, name
        place.assert_done("cp")
        assert place.proxy.rules[0]["times"] == 0, name
        place.make_old("cp")
        place.proxy.rules = [{**rule, **hidden}]
        result = run(command, environment=place.environment(), timeout=120)
        assert result.returncode == 1 and "InternalError" in one_sentence(result.stderr), name
        assert "R-scripted" in result.stderr, "the request's id is missing"
        assert place.object("to") == OLD, name
        place.proxy.rules = []
        if name != "a whole copy":
            assert run(command + ["--abort"], environment=place.environment()).returncode == 0


@pytest.mark.parametrize("kind", ["tos", "tos-tree"])
def test_bytes_that_are_not_the_stores_never_reach_the_target(make_place, kind):
    place = make_place(kind, content(PART))
    place.make_old("get")

    def flip(status, fields, body):
        return status, fields, body[:1000] + bytes([body[1000] ^ 1]) + body[1001:]

    place.proxy.rules = [place.part_rule("get", rewrite=flip)]
    result = place.run("get")
    assert result.returncode == 1 and "CRC-64" in one_sentence(result.stderr)
    assert place.target.read_bytes() == OLD and place.leftovers() == [], "what can never succeed is kept"
    place.proxy.rules = []
    assert place.run("get").returncode == 0
    place.assert_done("get")


@pytest.mark.parametrize("kind", ["tos", "tos-tree", "moto"])
def test_bytes_that_the_store_got_wrong_are_sent_again(make_place, kind):
    """As the checksum of the part tells; TOS's is CRC-64, S3's the tag."""
    place = make_place(kind, DATA)

    def misread(status, fields, body):
        return status, {**fields, **({"x-tos-hash-crc64ecma": "12345"} if place.is_tos else {"etag": '"%s"' % ("0" * 32)})}, body

    place.proxy.rules = [place.part_rule("put", skip=1, times=1, rewrite=misread)]
    assert place.run("put", "--parallel", "1").returncode == 0
    assert sorted(place.parts()) == [1, 2, 2, 3]
    place.assert_done("put")
