"""Places that `get`, `put` and `cp` are tried in: a bucket of each kind, a proxy in front of it, and
directories of their own for files and checkpoints."""

import json
import os
import random
import re
import signal
import subprocess
from urllib.parse import parse_qs

from programs import DIPPER, run, wait_for
from weather import Proxy

MIB = 1 << 20
PART = 5 * MIB
OLD = b"as it was"
# An object of TOS's own protocol is described by JSON, one of S3's by XML.
KINDS = ("moto", "seaweedfs", "tos", "tos-tree")
# moto's ListParts can't be read, and answers 500 when an upload is gone (moto 5.2), so that nothing that
# was begun there is resumed or given up.
RESUMABLE = ("seaweedfs", "tos", "tos-tree")
COMMANDS = ("get", "put", "cp")


def content(size, seed=5):
    return random.Random(seed).randbytes(size)


def make_bucket(kind, make_s3_bucket, make_tos_bucket):
    """A bucket of a kind: behind TOS's gateways each server is once flat and once hierarchical."""
    if kind == "tos":
        return make_tos_bucket("seaweedfs")
    if kind == "tos-tree":
        return make_tos_bucket("moto", type="hns")
    return make_s3_bucket(kind)


class Place:
    """What a transfer needs; `data` is the object `from`, and the file `file`."""

    def __init__(self, kind, bucket, directory, data):
        self.kind = kind
        self.is_tos = kind.startswith("tos")
        self.bucket = bucket
        self.data = data
        self.directory = directory
        self.proxy = Proxy(bucket.endpoint)
        self.target = directory / "target"
        self.file = directory / "file"
        self.state = directory / "state"
        self.started = []
        directory.mkdir(exist_ok=True)
        self.file.write_bytes(data)
        bucket.put("from", data)

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
            process.communicate()
        self.proxy.close()

    # Commands.

    def url(self, key):
        return self.bucket.url + "/" + key

    def words(self, command, *options):
        operands = {"get": [self.url("from"), str(self.target)], "put": [str(self.file), self.url("to")],
                    "cp": [self.url("from"), self.url("to")]}[command]
        return [DIPPER, command, *operands, "--endpoint", self.proxy.url, "--part-size", "5M", *options]

    def environment(self, more=None):
        return {"XDG_STATE_HOME": str(self.state), **(more or {})}

    def run(self, command, *options, environment=None, timeout=90):
        return run(self.words(command, *options), timeout=timeout, environment=self.environment(environment))

    def start(self, command, *options, environment=None):
        full = {name: value for name, value in {**os.environ, **self.environment(environment)}.items() if value is not None}
        process = subprocess.Popen(self.words(command, *options), env=full, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def start_pipe(self):
        """Starts to upload the file's bytes as they come out of standard input."""
        words = [DIPPER, "put", "-", self.url("to"), "--endpoint", self.proxy.url, "--part-size", "5M"]
        with open(self.file, "rb") as source:
            process = subprocess.Popen(words, stdin=source, env={**os.environ, **self.environment()},
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    # What came of them.

    def result(self, command):
        """The bytes that the command has made, None if there are none."""
        if command == "get":
            return self.target.read_bytes() if self.target.exists() else None
        return self.object("to")

    def object(self, key):
        """The bytes at a key as a client behind everything sees them; None if there are none."""
        try:
            return self.bucket.s3.get_object(Bucket=self.bucket.name, Key=key)["Body"].read()
        except self.bucket.s3.exceptions.NoSuchKey:
            return None

    def make_old(self, command):
        """Something is at the target already."""
        if command == "get":
            self.target.write_bytes(OLD)
        else:
            self.bucket.put("to", OLD)

    def uploads(self):
        """The ids of unfinished uploads."""
        if self.is_tos:
            return [one.upload_id for one in self.bucket.tos.list_multipart_uploads(self.bucket.name).uploads]
        page = self.bucket.s3.list_multipart_uploads(Bucket=self.bucket.name)
        return [one["UploadId"] for one in page.get("Uploads", [])]

    def leftovers(self):
        """Files beside those that belong there: checkpoints, locks, temporary files."""
        found = []
        for root, _, names in os.walk(self.directory):
            found += [os.path.join(root, name) for name in names]
        return sorted(set(found) - {str(self.file), str(self.target)})

    def checkpoint(self):
        """The one checkpoint there is."""
        paths = [path for path in self.leftovers() if path.endswith("checkpoint")]
        assert len(paths) == 1, self.leftovers()
        return paths[0]

    def recorded(self):
        """The lines of the checkpoint behind its head; none if there isn't one."""
        paths = [path for path in self.leftovers() if path.endswith("checkpoint")]
        if not paths:
            return []
        with open(paths[0]) as file:
            lines = file.read().split("\n")
        ends = [index for index, line in enumerate(lines) if line in ("parts", "ranges")]
        return lines[ends[0] + 1 : -1] if ends else []

    def recorded_bytes(self):
        """The bytes that the checkpoint's lines tell of."""
        return sum(int(line.split()[1]) for line in self.recorded())

    def assert_done(self, command):
        assert self.result(command) == self.data
        assert self.leftovers() == [], "something is left beside the result"
        assert self.uploads() == [], "an unfinished upload is left"

    # What was asked of the store.

    def is_part(self, entry):
        """Whether a request moves a part."""
        if entry["method"] == "GET":
            return "range" in entry["headers"]
        return entry["method"] == "PUT" and "partNumber" in entry["query"]

    def parts(self, since=0):
        """The parts that the store was asked for and has, in the order of asking."""
        found = []
        for entry in self.proxy.requests(since=since):
            if not self.is_part(entry) or entry["status"] not in (200, 206):
                continue
            if entry["method"] == "GET":
                found.append(int(re.match(r"bytes=(\d+)-", entry["headers"]["range"])[1]) // PART + 1)
            else:
                found.append(int(parse_qs(entry["query"])["partNumber"][0]))
        return found

    def fetched(self, since=0):
        """Bytes of the object that came down."""
        return sum(entry["sent"] for entry in self.proxy.requests("GET", "/from", since) if not entry["query"])

    def sent_to_store(self, since=0):
        """Bytes of parts that were sent up."""
        return sum(entry["received"] for entry in self.proxy.requests("PUT", since=since))

    # Rules.

    def part_rule(self, command, **action):
        """A rule for the requests that move parts."""
        if command == "get":
            return {"method": "GET", "path": "/from$", **action}
        return {"method": "PUT", "query": "partNumber=", **action}

    @staticmethod
    def completion_rule(**action):
        return {"method": "POST", "query": "uploadId=", **action}

    def refusal(self, code, status):
        """An error as the store explains it."""
        if self.is_tos:
            body = json.dumps({"Code": code, "Message": "scripted", "RequestId": "R-scripted"})
            return {"status": status, "body": body, "headers": {"x-tos-request-id": "R-scripted"}}
        body = "<Error><Code>%s</Code><Message>scripted</Message><RequestId>R-scripted</RequestId></Error>" % code
        return {"status": status, "body": body, "headers": {"x-amz-request-id": "R-scripted"}}

    def stop_after(self, command, count, how=signal.SIGKILL, *options, parallel=2):
        """Starts a command and ends it when `count` parts are done and recorded and the rest is on its way."""
        self.proxy.rules = [self.part_rule(command, skip=count, hole=True), self.completion_rule(hole=True)]
        process = self.start(command, "--parallel", str(parallel), *options)
        wait_for(lambda: self.is_held(command, count) or process.poll() is not None, "%d parts" % count, 60)
        assert process.poll() is None, process.communicate()
        process.send_signal(how)
        _, message = process.communicate(timeout=30)
        self.proxy.rules = []
        return process.returncode, message

    def is_held(self, command, count):
        is_recorded = self.recorded_bytes() >= min(count * PART, len(self.data))
        # One more request than were let through: the next part, or the completion.
        asked = [e for e in self.proxy.requests() if self.is_part(e) or (e["method"] == "POST" and "uploadId=" in e["query"])]
        return is_recorded and len(asked) > count
