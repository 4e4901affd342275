"""`get`, `put` and `cp` on each kind of store: whole, in parts, paused, resumed, given up."""

import json
import os
import signal
import subprocess
import threading
import time

import pytest
from tos.enum import VersioningStatusType

from programs import DIPPER, one_sentence, run, wait_for
from transfers import COMMANDS, KINDS, OLD, PART, RESUMABLE, content

DATA = content(8 * PART)
PARTS = 8


@pytest.mark.parametrize("command", COMMANDS)
def test_a_transfer_in_parts_is_whole_and_leaves_nothing_else(place, command):
    place.make_old(command)
    result = place.run(command)
    assert (result.returncode, result.stderr) == (0, "")
    place.assert_done(command)
    assert sorted(place.parts()) == [1, 2, 3]


@pytest.mark.parametrize("size", [0, 1, PART, PART + 1])
@pytest.mark.parametrize("kind", KINDS)
def test_every_size_goes_everywhere(make_place, kind, size):
    place = make_place(kind, content(size))
    for command in COMMANDS:
        assert place.run(command).returncode == 0
        place.assert_done(command)


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_moves_no_byte_through_the_client(make_place, kind):
    place = make_place(kind, DATA)
    assert place.run("cp").returncode == 0
    place.assert_done("cp")
    assert place.sent_to_store() == 0 and place.fetched() == 0
    assert sorted(place.parts()) == list(range(1, PARTS + 1))


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_goes_into_another_bucket(make_place, make_bucket, kind):
    place = make_place(kind, content(PART + 9))
    other = make_bucket(kind)
    for options in ([], ["--part-size", "5M"]):
        result = run([DIPPER, "cp", place.url("from"), other.url + "/d/", "--endpoint", place.proxy.url, *options],
                     environment=place.environment())
        assert result.returncode == 0, result
        body = other.s3.get_object(Bucket=other.name, Key="d/from")["Body"].read()
        assert body == place.data and place.sent_to_store() == 0
        other.s3.delete_object(Bucket=other.name, Key="d/from")


@pytest.mark.parametrize("kind", KINDS)
def test_what_describes_an_object_goes_along_or_is_replaced(make_place, kind):
    place = make_place(kind, content(PART + 9))

    def facts(key):
        head = place.bucket.s3.head_object(Bucket=place.bucket.name, Key=key)
        return head["ContentType"], head["Metadata"]

    described = ["--metadata", "Content-Type=video/mp4", "--metadata", "project=blue"]
    assert place.run("put", *described).returncode == 0
    assert facts("to") == ("video/mp4", {"project": "blue"})
    store = ["--endpoint", place.proxy.url]
    for options in ([], ["--part-size", "5M"]):
        for replaces in (False, True):
            facts_given = ["--metadata-directive", "replace", "--metadata", "new-meta-key=new"] if replaces else []
            result = run([DIPPER, "cp", place.url("to"), place.url("copy"), *store, *options, *facts_given],
                         environment=place.environment())
            assert result.returncode == 0, result
            found = facts("copy")
            assert found[1] == ({"new-meta-key": "new"} if replaces else {"project": "blue"}), options
            assert (found[0] == "video/mp4") != replaces


@pytest.mark.parametrize("key", ["a b+c%d", "ü/ö ä", "d/?&=#", "x" * 200])
@pytest.mark.parametrize("kind", KINDS)
def test_odd_keys_are_transferred(make_place, tmp_path, kind, key):
    place = make_place(kind, content(PART + 9))
    store = ["--endpoint", place.proxy.url, "--part-size", "5M"]
    environment = place.environment()
    assert run([DIPPER, "put", str(place.file), place.url(key), *store], environment=environment).returncode == 0
    assert run([DIPPER, "cp", place.url(key), place.url(key + ".copy"), *store], environment=environment).returncode == 0
    back = tmp_path / "back"
    assert run([DIPPER, "get", place.url(key + ".copy"), str(back), *store], environment=environment).returncode == 0
    assert back.read_bytes() == place.data


def test_a_pipe_is_uploaded_in_parts_and_says_that_it_cannot_resume(place):
    command = [DIPPER, "put", "-", place.url("to"), "--endpoint", place.proxy.url, "--part-size", "5M"]
    result = subprocess.run(command, input=place.data, capture_output=True, timeout=90,
                            env={**os.environ, **place.environment()})
    assert result.returncode == 0, result
    place.assert_done("put")
    result = subprocess.run([*command, "--checkpoint", str(place.directory / "c")], input=place.data, capture_output=True,
                            timeout=90)
    assert result.returncode == 2 and "can't be read again" in result.stderr.decode()


def test_a_pipe_that_is_stopped_leaves_no_upload(place):
    command = [DIPPER, "put", "-", place.url("to"), "--endpoint", place.proxy.url, "--part-size", "5M"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdin.write(place.data)
    process.stdin.flush()
    wait_for(lambda: place.parts(), "a part", 60)
    process.send_signal(signal.SIGINT)
    # The pipe stays open: what ends it is the signal.
    assert process.wait(timeout=30) == 130
    assert b"stopped" in process.stderr.read()
    process.stdin.close()
    process.stderr.close()
    assert place.uploads() == [] and place.object("to") is None


@pytest.mark.parametrize("command", ["put", "cp", "put -"])
@pytest.mark.parametrize("kind", ["seaweedfs", "tos"])
def test_an_upload_that_is_paused_while_it_begins_is_not_forgotten(make_place, kind, command):
    place = make_place(kind, content(2 * PART))
    held, answer = threading.Event(), threading.Event()

    def hold(*facts):
        held.set()
        answer.wait(10)
        return facts

    place.proxy.rules = [{"method": "POST", "query": "^uploads", "rewrite": hold}]
    process = place.start_pipe() if command == "put -" else place.start(command)
    assert held.wait(30)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    answer.set()
    _, message = process.communicate(timeout=30)
    assert process.returncode == 130, message
    if command == "put -":
        assert place.uploads() == [] and place.leftovers() == []
        return
    assert len(place.uploads()) == 1 and place.checkpoint() and place.parts() == []
    assert place.run(command).returncode == 0
    place.assert_done(command)


@pytest.mark.parametrize("command", ["put", "cp"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("kind", RESUMABLE)
def test_a_signal_pauses_and_the_same_command_resumes(make_place, kind, command, how):
    place = make_place(kind, DATA)
    place.make_old(command)
    code, message = place.stop_after(command, 3, how)
    assert code == 128 + how and "the same command resumes" in one_sentence(message)
    assert place.result(command) == OLD and len(place.uploads()) == 1 and len(place.leftovers()) == 1
    done = place.parts()
    since = place.proxy.mark()
    assert place.run(command, "--parallel", "2").returncode == 0
    assert len(done) == 3 and sorted(done + place.parts(since)) == list(range(1, PARTS + 1))
    place.assert_done(command)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", RESUMABLE)
def test_a_paused_transfer_is_given_up(make_place, kind, command):
    place = make_place(kind, content(3 * PART))
    place.make_old(command)
    code, _ = place.stop_after(command, 1, signal.SIGINT)
    assert code == 130 and place.leftovers()
    result = place.run(command, "--abort")
    assert (result.returncode, result.stderr) == (0, "")
    assert place.uploads() == [] and place.leftovers() == [] and place.result(command) == OLD
    since = place.proxy.mark()
    assert place.run(command).returncode == 0
    assert sorted(place.parts(since)) == [1, 2, 3], "it didn't begin anew"
    place.assert_done(command)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("option, word", [(["--part-size", "6M"], "--part-size"), (["--if-match", '"other"'], "--if-match")])
def test_another_request_is_told_what_differs(make_place, command, option, word):
    place = make_place("seaweedfs", content(3 * PART))
    place.stop_after(command, 1, signal.SIGINT)
    before = place.leftovers()
    since = place.proxy.mark()
    result = place.run(command, *option)
    assert result.returncode == 1 and "another " + word in one_sentence(result.stderr)
    assert "--force-restart" in result.stderr
    assert place.leftovers() == before and not place.parts(since)
    assert place.run(command, "--force-restart").returncode == 0
    place.assert_done(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_events_are_lines_of_json(place, command):
    result = place.run(command, "--json")
    assert result.returncode == 0, result
    events = [json.loads(line) for line in result.stdout.splitlines()]
    kinds = [event["event"] for event in events]
    assert sorted(event["part"] for event in events if event["event"] == "part_finished") == [1, 2, 3]
    assert kinds[-1] == "finished"
    started = next(event for event in events if event["event"] == "started")
    assert (started["size"], started["bytes_done"]) == (len(place.data), 0)
    if command == "get":
        assert "temporary_file_created" in kinds and "progress" in kinds
    else:
        # Parts, not bytes, are what is told of.
        assert "upload_created" in kinds and "progress" not in kinds
        assert events[-1]["etag"] and events[-1]["size"] == len(place.data)


@pytest.mark.parametrize("command", COMMANDS)
def test_only_the_wanted_version_is_taken(place, command):
    place.make_old(command)
    key = "to" if command == "put" else "from"
    tag = place.bucket.s3.head_object(Bucket=place.bucket.name, Key=key)["ETag"]
    result = place.run(command, "--if-match", '"%s"' % ("0" * 32))
    if command == "put" and place.kind == "moto":
        return  # It completes an upload whatever the condition (moto 5.2).
    assert result.returncode == (1 if command == "put" else 3), result
    one_sentence(result.stderr)
    assert place.result(command) == OLD
    if command == "put" and place.is_tos:
        # TOS has no condition on a version where parts are completed.
        assert place.parts() == [] and place.uploads() == []
        return
    if command == "put":
        # Whoever puts the wanted version back goes on with what was sent.
        assert len(place.uploads()) == 1
        assert place.run(command, "--if-match", '"%s"' % ("0" * 32), "--abort").returncode == 0
    assert place.uploads() == []
    result = place.run(command, "--if-match", tag)
    assert result.returncode == 0, result
    place.assert_done(command)


@pytest.mark.parametrize("kind", ["moto", "tos"])
@pytest.mark.parametrize("command", ["get", "cp"])
def test_an_older_version_is_transferred(make_place, kind, command):
    place = make_place(kind, content(2 * PART))
    old = content(PART + 77, seed=8)
    if place.is_tos:
        place.bucket.tos.put_bucket_versioning(place.bucket.name, VersioningStatusType.Versioning_Status_Enabled)
        version = place.bucket.put("from", old).version_id
    else:
        place.bucket.s3.put_bucket_versioning(Bucket=place.bucket.name, VersioningConfiguration={"Status": "Enabled"})
        version = place.bucket.s3.put_object(Bucket=place.bucket.name, Key="from", Body=old)["VersionId"]
    place.bucket.put("from", b"newer")
    assert place.run(command, "--version-id", version).returncode == 0
    assert place.result(command) == old


def test_a_rate_is_kept_to(make_place):
    """Only that it is not faster: how slow it is depends on the machine."""
    place = make_place("seaweedfs", content(2 * PART))
    for command in ("get", "put"):
        begin = time.monotonic()
        assert place.run(command, "--limit-rate", "4M").returncode == 0
        # The first bytes go at once.
        assert time.monotonic() - begin > 1.5, command
        place.assert_done(command)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("retries", [None, 0, 2])
def test_the_first_request_and_each_part_are_tried_again_so_often(make_place, command, retries):
    place = make_place("seaweedfs", content(PART + 9))
    options = [] if retries is None else ["--max-retries", str(retries)]
    count = 1 + (3 if retries is None else retries)
    first = {"get": "HEAD", "put": "POST", "cp": "HEAD"}[command]
    place.proxy.rules = [{"method": first, **place.refusal("SlowDown", 503)}]
    assert place.run(command, *options).returncode == 1
    assert len(place.proxy.requests(first)) == count
    since = place.proxy.mark()
    place.proxy.rules = [place.part_rule(command, **place.refusal("SlowDown", 503))]
    result = place.run(command, "--parallel", "1", *options)
    assert result.returncode == 1 and "SlowDown" in one_sentence(result.stderr)
    assert sum(place.is_part(entry) for entry in place.proxy.requests(since=since)) == count


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_directory_that_cannot_be_written_is_told(make_place, command):
    place = make_place("seaweedfs", content(100))
    place.directory.chmod(0o755)
    locked = place.directory / "locked"
    locked.mkdir(mode=0o555)
    place.target = locked / "target"
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    words = place.words(command, "--checkpoint", str(locked / "checkpoint"))
    above = [str(part) for part in place.directory.parents if "pytest" in str(part)]
    for part in above:
        os.chmod(part, 0o755)
    result = run(nobody + words, environment=place.environment({"HOME": str(place.directory)}))
    assert result.returncode == 1 and str(locked) in one_sentence(result.stderr), result
    assert list(locked.iterdir()) == [] and place.object("to") is None


@pytest.mark.parametrize("command", COMMANDS)
def test_abort_says_that_there_is_nothing_to_give_up(make_place, command):
    place = make_place("seaweedfs", content(100))
    result = place.run(command, "--abort")
    assert result.returncode == 0 and "there is nothing to give up" in one_sentence(result.stderr)
    assert place.leftovers() == []


def test_get_tells_parts_and_what_it_has_got(place):
    result = place.run("get", "--json")
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    started = next(line for line in lines if line["event"] == "started")
    assert (started["parts"], started["size"], started["bytes_done"]) == (3, len(place.data), 0)
    etag = place.bucket.s3.head_object(Bucket=place.bucket.name, Key="from")["ETag"].strip('"')
    finished = lines[-1]
    assert (finished["event"], finished["size"], finished["etag"], finished["key"]) == \
        ("finished", len(place.data), etag, "from")
    assert finished["path"] == str(place.target)


@pytest.mark.parametrize("target", ["target", "-"])
def test_an_object_that_is_said_to_be_empty_and_is_not_is_no_success(make_place, target):
    place = make_place("seaweedfs", content(100))
    head = place.bucket.s3.head_object(Bucket=place.bucket.name, Key="from")
    place.proxy.rules = [{"method": "HEAD", "status": 200, "body": b"", "headers": {
        "ETag": head["ETag"], "Last-Modified": "Mon, 30 Nov 2026 08:30:00 GMT"}}]
    words = place.words("get")
    if target == "-":
        words[3] = "-"
    result = run(words, environment=place.environment())
    assert result.returncode == 1 and "says that the object is empty" in one_sentence(result.stderr), result
    assert result.stdout == "" and place.object("to") is None and not place.target.exists()


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_object_is_got(make_place, kind):
    place = make_place(kind, b"")
    assert place.run("get").returncode == 0
    assert place.target.read_bytes() == b""
    place.target.unlink()
    result = run([*place.words("get")[:3], "-", *place.words("get")[4:]], environment=place.environment())
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_keys_of_the_customers_are_no_option(make_place):
    place = make_place("seaweedfs", content(100))
    for command in COMMANDS:
        for option in ("--sse-customer-key", "--sse", "--copy-source-sse-customer-key"):
            result = place.run(command, option, "x")
            assert result.returncode == 2 and option in one_sentence(result.stderr)
    assert place.proxy.log == [] and place.leftovers() == []
