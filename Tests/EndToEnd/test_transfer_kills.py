"""kill -9 in the middle of `get`, `put` and `cp`: what was done is not done again."""

import os
from urllib.parse import unquote

import pytest

from programs import wait_for
from transfers import COMMANDS, MIB, OLD, PART, RESUMABLE, content
from weather import SEND_BUFFER

PARTS = 8
DATA = content(PARTS * PART)
# How much of a part that is on its way a line of a download's checkpoint covers.
UNIT = MIB
# Parts that are done: the last stands for 99 %, where only the end is missing.
FRACTIONS = {25: 2, 50: 4, 75: 6, 99: 8}


@pytest.mark.parametrize("kind", RESUMABLE)
@pytest.mark.parametrize("percent", FRACTIONS)
@pytest.mark.parametrize("command", ["put", "cp"])
def test_a_killed_transfer_sends_no_finished_part_again(make_place, kind, percent, command):
    place = make_place(kind, DATA)
    place.make_old(command)
    done = FRACTIONS[percent]
    code, _ = place.stop_after(command, done)
    assert code == -9 and place.result(command) == OLD
    assert place.uploads() != [] and upload_of(place.checkpoint()) in place.uploads(), "the upload is not recorded"
    assert len(place.uploads()) == 1
    before = place.parts()
    since = place.proxy.mark()
    assert place.run(command, "--parallel", "2").returncode == 0
    assert len(before) == done and sorted(before + place.parts(since)) == list(range(1, PARTS + 1))
    assert place.sent_to_store(since) == (0 if command == "cp" else (PARTS - done) * PART)
    place.assert_done(command)


@pytest.mark.parametrize("kind", ["seaweedfs", "tos"])
@pytest.mark.parametrize("percent", FRACTIONS)
def test_a_killed_download_fetches_little_again(make_place, kind, percent):
    place = make_place(kind, DATA)
    place.make_old("get")
    done = FRACTIONS[percent]
    parallel = 2
    # In the middle of parts, so that there is something to lose.
    place.proxy.rules = [place.part_rule("get", skip=done - parallel, stall_after=PART * 3 // 4)]
    process = place.start("get", "--parallel", str(parallel))
    stalled = (done - parallel) * PART + parallel * (PART * 3 // 4)
    # What is sent and not yet taken may be as much as the sockets hold.
    wait_for(lambda: place.recorded_bytes() >= stalled - parallel * UNIT, "the parts", 60)
    process.kill()
    process.communicate()
    assert place.result("get") == OLD
    place.proxy.rules = []
    assert place.run("get", "--parallel", str(parallel)).returncode == 0
    place.assert_done("get")
    again = place.fetched() - len(DATA)
    assert again <= parallel * (UNIT + 2 * SEND_BUFFER), "%d bytes were fetched again" % again


@pytest.mark.parametrize("command", ["put", "cp"])
def test_an_upload_is_recorded_before_its_first_part(make_place, command):
    place = make_place("seaweedfs", DATA)
    code, _ = place.stop_after(command, 0)
    assert code == -9
    assert place.uploads() == [upload_of(place.checkpoint())]
    assert place.run(command).returncode == 0
    place.assert_done(command)


# Of SeaweedFS's copies nothing tells that they are whole but a second copy.
@pytest.mark.parametrize("kind, command", [("seaweedfs", "put"), ("tos", "put"), ("tos", "cp"), ("tos-tree", "cp")])
def test_a_completion_that_was_done_before_the_kill_is_found(make_place, kind, command):
    place = make_place(kind, content(2 * PART))
    # The store completes it, and whoever asked is killed before the answer.
    place.proxy.rules = [place.completion_rule(rewrite=lambda *answer: killed(place, answer))]
    process = place.start(command)
    place.waiting = process
    process.wait(timeout=60)
    assert process.returncode == -9
    place.proxy.rules = []
    since = place.proxy.mark()
    assert place.run(command).returncode == 0
    assert place.parts(since) == [], "it was all done already"
    place.assert_done(command)


def killed(place, answer):
    place.waiting.kill()
    place.waiting.wait()
    return answer


def upload_of(checkpoint):
    """The id of the upload that a checkpoint records."""
    with open(checkpoint) as file:
        return next(unquote(line.split()[1]) for line in file if line.startswith("upload-id "))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_checkpoint_is_private_and_has_no_secret(make_place, command):
    place = make_place("seaweedfs", content(2 * PART))
    environment = {"AWS_SESSION_TOKEN": "token-that-nobody-may-see"}
    log = place.directory / "log"
    place.stop_after(command, 1)
    text = open(place.checkpoint()).read()
    assert os.stat(place.checkpoint()).st_mode & 0o077 == 0
    result = place.run(command, "--log-level", "debug", "--log-file", str(log), environment=environment)
    words = text + log.read_text() + result.stdout + result.stderr
    for secret in (os.environ["AWS_SECRET_ACCESS_KEY"], environment["AWS_SESSION_TOKEN"], os.environ["AWS_ACCESS_KEY_ID"]):
        assert secret not in text
        assert secret == os.environ["AWS_ACCESS_KEY_ID"] or secret not in words
