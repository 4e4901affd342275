"""scripts/verify-live, run against the gateway instead of the live service."""

import json
import os
import signal
import subprocess
import time

import pytest

from conftest import one_sentence, wait_for
from tos_bucket import REGION, ask
from weather import Proxy

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "..", "scripts", "verify-live")
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("TOS_", "VOLCENGINE_", "DIPPER_VERIFY"))}


def environment(bucket, **more):
    """Everything the script needs, and no metadata service."""
    found = {**CLEAN, "TOS_ENDPOINT": bucket.endpoint, "TOS_REGION": REGION,
             "TOS_ACCESS_KEY": os.environ["AWS_ACCESS_KEY_ID"],
             "TOS_SECRET_KEY": os.environ["AWS_SECRET_ACCESS_KEY"],
             "DIPPER_VERIFY_BUCKET": bucket.url, "VOLCENGINE_ECS_METADATA_ENDPOINT": "http://127.0.0.1:9", **more}
    return {name: value for name, value in found.items() if value is not None}


def verify(environment, *arguments):
    return subprocess.run([SCRIPT, *arguments], env=environment, capture_output=True, text=True, timeout=240, check=False)


def left(bucket):
    """What an S3 client behind the gateway finds: objects and unfinished uploads."""
    return (bucket.s3.list_objects_v2(Bucket=bucket.name).get("Contents", [])
            + bucket.s3.list_multipart_uploads(Bucket=bucket.name).get("Uploads", []))


@pytest.mark.parametrize("server,kind", [("moto", "fns"), ("moto", "hns"), ("seaweedfs", "fns")])
def test_every_probe_is_asked_and_nothing_is_left(make_tos_bucket, server, kind):
    bucket = make_tos_bucket(server, type=kind)
    run = verify(environment(bucket), "--json", "--archive")
    assert not run.stderr, run.stderr
    report = json.loads(run.stdout)
    verdicts = {probe["probe"]: (probe["verdict"], probe["observed"]) for probe in report["probes"]}
    # What only the service itself, or a machine in its cloud, can answer.
    elsewhere = {"bucket-in-the-path", "other-endpoint", "instance-metadata"}
    # There is nothing to append to, to archive, or to link in a tree; only a tree has directories.
    elsewhere |= ({"copying-appendable", "restoring-twice", "links"} if kind == "hns"
                  else {"an-empty-directory", "deleting-a-tree", "renaming-a-directory"})
    asked = {name: told for name, told in verdicts.items() if name not in elsewhere}
    assert {told[0] for told in asked.values()} == {"as expected"}, asked
    assert {verdicts[name][0] for name in elsewhere} <= {"not tried", "differs"}
    assert run.returncode == (1 if any(told[0] == "differs" for told in verdicts.values()) else 0)
    assert report["left"] == [] and left(bucket) == []
    counts = bucket.counts()
    assert counts, "nothing was asked"


def test_a_difference_is_told_with_exit_code_1(make_tos_bucket):
    bucket = make_tos_bucket("moto", page_size=2)
    ask(bucket.endpoint, "PUT", "buckets/" + bucket.name, {"rename": True})
    run = verify(environment(bucket), "renaming", "wrong-region")
    assert run.returncode == 0 and "moved" in run.stdout, run.stdout + run.stderr
    run = verify(environment(bucket, TOS_REGION="xx-other"), "renaming")
    # Signed for another region nothing can be asked, so nothing is written.
    assert run.returncode == 2 and "nothing was written" in one_sentence(run.stderr)
    assert left(bucket) == []


@pytest.mark.parametrize("lacking", ["TOS_ACCESS_KEY", "TOS_SECRET_KEY", "DIPPER_VERIFY_BUCKET"])
def test_without_keys_or_a_bucket_one_sentence_says_what_to_set(make_tos_bucket, lacking):
    bucket = make_tos_bucket("moto")
    before = bucket.counts()
    run = verify(environment(bucket, **{lacking: None}))
    assert run.returncode == 2 and not run.stdout
    assert "set TOS_ACCESS_KEY, TOS_SECRET_KEY and DIPPER_VERIFY_BUCKET" in one_sentence(run.stderr)
    assert bucket.counts() == before


def test_a_bucket_that_refuses_or_keeps_versions_is_left_alone(make_tos_bucket):
    bucket = make_tos_bucket("moto")
    run = verify(environment(bucket, TOS_SECRET_KEY="wrong"))
    assert run.returncode == 2 and "SignatureDoesNotMatch" in one_sentence(run.stderr)
    run = verify(environment(bucket, DIPPER_VERIFY_BUCKET="tos://no-such-bucket-here"))
    assert run.returncode == 2 and "NoSuchBucket" in one_sentence(run.stderr)
    run = verify(environment(bucket, TOS_ENDPOINT="http://127.0.0.1:9"))
    assert run.returncode == 2 and "refused" in one_sentence(run.stderr).lower()
    bucket.tos.put_bucket_versioning(bucket.name, __import__("tos").enum.VersioningStatusType.Versioning_Status_Enabled)
    run = verify(environment(bucket))
    assert run.returncode == 2 and "keeps versions" in one_sentence(run.stderr)
    assert left(bucket) == []


def test_an_unknown_probe_is_named_and_all_are_listed():
    run = verify(CLEAN, "no-such-probe")
    assert run.returncode == 2 and "no-such-probe" in one_sentence(run.stderr)
    run = verify(CLEAN, "--list")
    assert run.returncode == 0 and len(run.stdout.splitlines()) > 20


@pytest.mark.parametrize("number,code", [(signal.SIGINT, 130), (signal.SIGTERM, 130)])
def test_an_interrupted_run_removes_what_it_wrote(make_tos_bucket, number, code):
    bucket = make_tos_bucket("moto")
    run = subprocess.Popen([SCRIPT, "--archive"], env=environment(bucket), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    wait_for(lambda: left(bucket), "the first object")
    run.send_signal(number)
    time.sleep(0.01)
    run.send_signal(number)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == code, errors
    assert "interrupted" in one_sentence(errors)
    assert left(bucket) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_that_is_interrupted_is_waited_for(make_tos_bucket, number):
    """What it writes comes later than the interruption, and is removed all the same."""
    bucket = make_tos_bucket("moto")
    proxy = Proxy(bucket.endpoint)
    proxy.rules = [{"method": "PUT", "delay": 1, "times": 1}]
    run = subprocess.Popen([SCRIPT], env=environment(bucket, TOS_ENDPOINT=proxy.url), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: proxy.requests("PUT"), "the first object to be under way")
        run.send_signal(number)
        _, errors = run.communicate(timeout=60)
        assert run.returncode == 130, errors
        assert "interrupted" in one_sentence(errors)
        wait_for(lambda: proxy.requests("PUT")[0]["status"] == 200, "the object to be stored")
        assert left(bucket) == []
    finally:
        run.kill()
        proxy.close()
