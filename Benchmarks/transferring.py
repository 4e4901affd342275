"""Measures `get`, `put` and `cp` against other programs. See README.md beside this file."""

import argparse
import collections
import contextlib
import hashlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from urllib.parse import parse_qs

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Tests", "EndToEnd"))

import tos_bucket  # noqa: E402
from conftest import SERVERS, Bucket, client  # noqa: E402
from counting import CountingProxy  # noqa: E402
from reading import MIB, claim_memory, content, size_of, upload  # noqa: E402

DIPPER = os.environ["DIPPER_BINARY"]
KEY = os.environ["AWS_ACCESS_KEY_ID"]
SECRET = os.environ["AWS_SECRET_ACCESS_KEY"]
FRACTIONS = (25, 50, 75, 99)

# What the SDK is told to do, in a process of its own; it tells how long the call alone took.
SDK = """
import json, sys, time
sys.path.insert(0, %r)
import tos_bucket
facts = json.loads(sys.argv[1])
client = tos_bucket.sdk(facts["endpoint"], max_retry_count=3)
begin = time.monotonic()
if facts["command"] == "get":
    client.download_file(facts["bucket"], "f", facts["file"], part_size=facts["part"], task_num=facts["parallel"],
                         enable_checkpoint=True)
else:
    client.resumable_copy_object(facts["bucket"], "copy", facts["bucket"], "f", part_size=facts["part"],
                                 task_num=facts["parallel"], enable_checkpoint=True, checkpoint_file=facts["file"])
print(json.dumps(time.monotonic() - begin))
""" % os.path.dirname(os.path.abspath(tos_bucket.__file__))


@dataclass
class Run:
    """What one run of a program took."""

    seconds: float
    cpu: float
    peak: int


def watch_memory(pid, peaks):
    """Notes the peak of a process until it ends; what wait tells has the memory of whoever started it."""
    while True:
        try:
            with open("/proc/%d/status" % pid) as file:
                found = [line for line in file if line.startswith("VmHWM")]
        except OSError:
            return
        if not found:  # a zombie
            return
        peaks.append(int(found[0].split()[1]) * 1024)
        time.sleep(0.005)


def measured(command, environment=None, inner=False):
    """Runs a command; with `inner` it says itself how long its work took."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, **(environment or {})})
    peaks = [0]
    watch = threading.Thread(target=watch_memory, args=(process.pid, peaks))
    watch.start()
    output = process.stdout.read()
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    watch.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    process.stderr.close()
    seconds = time.monotonic() - begin
    if process.returncode != 0:
        raise SystemExit("%s ended with %d: %s" % (command[0], process.returncode, error.decode()[-500:]))
    return Run(json.loads(output) if inner else seconds, usage.ru_utime + usage.ru_stime, peaks[-1])


class Stage:
    """A bucket at one server, what it holds, and a directory."""

    def __init__(self, options, is_tos):
        self.options = options
        self.is_tos = is_tos
        self.size = size_of(options.size)
        self.part = size_of(options.part_size)
        server = options.server
        self.bucket = tos_bucket.TosBucket(server, client(SERVERS[server])) if is_tos else Bucket(server, SERVERS[server])
        self.directory = tempfile.mkdtemp(prefix="dipper-bench-", dir=options.directory)
        self.proxies = []
        self.file = os.path.join(self.directory, "target")
        self.state = {"XDG_STATE_HOME": os.path.join(self.directory, "state")}

    def close(self):
        for proxy in self.proxies:
            proxy.close()
        self.bucket.clear()
        shutil.rmtree(self.directory, ignore_errors=True)

    def counted(self):
        self.proxies.append(CountingProxy(self.bucket.endpoint))
        return self.proxies[-1]

    def clean(self):
        for name in os.listdir(self.directory):
            path = os.path.join(self.directory, name)
            shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    # What takes part.

    def dipper(self, command, endpoint=None):
        url = self.bucket.url
        operands = {"get": [url + "/f", self.file], "put": [self.file + ".source", url + "/sent"],
                    "cp": [url + "/f", url + "/copy"]}[command]
        return [DIPPER, command, *operands, "--endpoint", endpoint or self.bucket.endpoint, "--part-size",
                self.options.part_size, "--parallel", str(self.options.parallel), "--no-progress"]

    def curl(self):
        """Ranges of a signed URL, each to a file of its own."""
        url = self.bucket.s3.generate_presigned_url("get_object", Params={"Bucket": self.bucket.name, "Key": "f"})
        config = os.path.join(self.directory, "curl.cfg")
        with open(config, "w") as file:
            for index, start in enumerate(range(0, self.size, self.part)):
                file.write('%surl = "%s"\noutput = "%s"\nrange = "%d-%d"\nsilent\nfail\n' % (
                    "next\n" if index else "", url, "%s.%d" % (self.file, index), start,
                    min(start + self.part, self.size) - 1))
        return ["curl", "--parallel", "--parallel-immediate", "--parallel-max", str(self.options.parallel),
                "--config", config]

    def rclone(self, source, target):
        config = os.path.join(self.directory, "rclone.conf")
        facts = {"type": "s3", "provider": "Other", "access_key_id": KEY, "secret_access_key": SECRET,
                 "region": "us-east-1", "endpoint": self.endpoint, "force_path_style": "true", "no_check_bucket": "true"}
        with open(config, "w") as file:
            file.write("[store]\n" + "".join("%s = %s\n" % fact for fact in facts.items()))
        part = "%dM" % (self.part // MIB)
        return ["rclone", "copyto", source, target, "--config", config, "--multi-thread-cutoff", "1M",
                "--multi-thread-chunk-size", part, "--multi-thread-streams", str(self.options.parallel),
                "--s3-chunk-size", part, "--s3-copy-cutoff", part, "--s3-upload-concurrency", str(self.options.parallel)]

    def sdk(self, command, endpoint=None):
        facts = {"command": command, "endpoint": endpoint or self.bucket.endpoint, "bucket": self.bucket.name,
                 "file": self.file, "part": self.part, "parallel": self.options.parallel}
        return [sys.executable, "-c", SDK, json.dumps(facts)]

    def rclone_get(self, endpoint=None):
        self.endpoint = endpoint or self.bucket.endpoint
        return self.rclone("store:%s/f" % self.bucket.name, self.file)

    def rclone_copy(self, endpoint=None):
        self.endpoint = endpoint or self.bucket.endpoint
        return self.rclone("store:%s/f" % self.bucket.name, "store:%s/copy" % self.bucket.name)


def operation(entry):
    """The name that S3 and TOS have for a request."""
    query = parse_qs(entry["query"], keep_blank_values=True)
    is_copy = any(name.endswith("copy-source") for name in entry["headers"])
    if "partNumber" in query:
        return "UploadPartCopy" if is_copy else "UploadPart"
    if "uploads" in query:
        return "CreateMultipartUpload" if entry["method"] == "POST" else "ListMultipartUploads"
    if "uploadId" in query:
        return {"POST": "CompleteMultipartUpload", "DELETE": "AbortMultipartUpload", "GET": "ListParts"}[entry["method"]]
    if "tagging" in query:
        return "GetObjectTagging"
    return "CopyObject" if is_copy else entry["method"].capitalize() + ("Object" if entry["path"].count("/") > 1 else "Bucket")


def requests_of(proxy, since=0):
    counts = collections.Counter(operation(entry) for entry in proxy.requests(since=since))
    return ", ".join("%d %s" % (count, name) for name, count in counts.most_common())


def contest(stage, contestants, work):
    """Runs all in turns, each time another one first; prints medians, and the ratio to each other one."""
    runs = collections.defaultdict(list)
    names = list(contestants)
    for number in range(stage.options.rounds):
        for name in names[number % len(names) :] + names[: number % len(names)]:
            stage.clean()
            claim_memory(stage.directory, max(256 * MIB, stage.size))
            runs[name].append(measured(contestants[name](), stage.state, inner=name == "sdk"))
    own = [run.seconds for run in runs["dipper"]]
    for name in names:
        seconds = [run.seconds for run in runs[name]]
        ratio = statistics.median(other / mine for other, mine in zip(seconds, own))
        print("%s, %s: %.2f s (%s), %.2f CPU s, %.0f MiB resident%s" % (
            work, name, statistics.median(seconds), ", ".join("%.2f" % one for one in seconds),
            statistics.median(run.cpu for run in runs[name]), max(run.peak for run in runs[name]) / MIB,
            "" if name == "dipper" else "; dipper is %.2f times as fast" % ratio), flush=True)


def get(options):
    for is_tos in (False, True):
        with stage_of(options, is_tos) as stage:
            load(stage)
            contestants = {"dipper": lambda: stage.dipper("get")}
            if is_tos:
                contestants["sdk"] = lambda: stage.sdk("get")
            else:
                contestants["curl"] = stage.curl
                if shutil.which("rclone"):
                    contestants["rclone"] = stage.rclone_get
            contest(stage, contestants, "get of %s from %s" % (options.size, "tos" if is_tos else options.server))
            if not is_tos:
                memory(stage)


def memory(stage):
    """Peak memory by the object's size: flat."""
    for size in (stage.size // 4, stage.size // 2, stage.size):
        upload(stage.bucket, "f", size)
        stage.clean()
        run = measured(stage.dipper("get"), stage.state)
        print("get of %d MiB: %.0f MiB resident" % (size // MIB, run.peak / MIB), flush=True)


def cp(options):
    for is_tos in (False, True):
        with stage_of(options, is_tos) as stage:
            load(stage)
            where = "tos" if is_tos else options.server
            contestants = {"dipper": lambda: stage.dipper("cp")}
            if is_tos:
                contestants["sdk"] = lambda: stage.sdk("cp")
            elif shutil.which("rclone"):
                contestants["rclone"] = stage.rclone_copy
            contest(stage, contestants, "cp of %s at %s" % (options.size, where))
            commands = {"dipper": lambda url: stage.dipper("cp", url), "sdk": lambda url: stage.sdk("cp", url),
                        "rclone": stage.rclone_copy}
            for name in contestants:
                proxy = stage.counted()
                stage.clean()
                measured(commands[name](proxy.url), stage.state, inner=name == "sdk")
                moved = [entry for entry in proxy.requests() if operation(entry) in ("GetObject", "PutObject", "UploadPart")]
                print("cp of %s at %s, %s: %d object bytes through the client; %s" % (
                    options.size, where, name, sum(entry["sent"] + entry["received"] for entry in moved),
                    requests_of(proxy)), flush=True)


def resume(options):
    """kill -9 at each fraction, then the same command again."""
    for command in ("get", "put", "cp"):
        with stage_of(options, False) as stage:
            digest = load(stage)
            for percent in FRACTIONS:
                kill_and_resume(stage, command, percent, digest)


def kill_and_resume(stage, command, percent, digest):
    stage.clean()
    with open(stage.file + ".source", "wb") as file:
        file.write(content(stage.size))
    proxy = stage.counted()
    count = -(-stage.size // stage.part)

    def progress():
        if command == "get":
            return proxy.body_bytes("/f") / stage.size
        return sum(operation(e) in ("UploadPart", "UploadPartCopy") and e["status"] == 200 for e in proxy.requests()) / count

    process = subprocess.Popen(stage.dipper(command, proxy.url), env={**os.environ, **stage.state}, stderr=subprocess.DEVNULL)
    while progress() < percent / 100 and process.poll() is None:
        time.sleep(0.002)
    at = progress()
    process.send_signal(signal.SIGKILL)
    process.wait()
    if process.returncode != -signal.SIGKILL:
        print("%s killed at %d %%: it had ended before" % (command, percent), flush=True)
        return
    since = proxy.mark()
    measured(stage.dipper(command, proxy.url), stage.state)
    if command == "get":
        again = "%.1f MiB fetched again" % ((proxy.body_bytes("/f") - stage.size) / MIB)
        found = digest_of_file(stage.file)
    else:
        parts = sum(operation(e) in ("UploadPart", "UploadPartCopy") for e in proxy.requests(since=since))
        again = "%d of %d parts sent after it, %.1f MiB sent in all" % (
            parts, count, sum(e["received"] for e in proxy.requests("PUT")) / MIB)
        body = stage.bucket.s3.get_object(Bucket=stage.bucket.name, Key={"put": "sent", "cp": "copy"}[command])["Body"]
        found = hashlib.sha256(body.read()).hexdigest()
    print("%s killed at %.0f %%: %s; sha256 equal: %s" % (command, at * 100, again, found == digest), flush=True)


def digest_of_file(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sizes(options):
    """The edges: nothing, one part, a byte more."""
    part = size_of(options.part_size)
    for size in (0, part, part + 1):
        with stage_of(options, False) as stage:
            stage.size = size
            load(stage)
            with open(stage.file + ".source", "wb") as file:
                file.write(content(size))
            for command in ("get", "put", "cp"):
                proxy = stage.counted()
                run = measured(stage.dipper(command, proxy.url), stage.state)
                print("%s of %d bytes: %.2f s; %s" % (command, size, run.seconds, requests_of(proxy)), flush=True)


def load(stage):
    """Puts the object there; an S3 client does it, as TOS's objects keep their keys."""
    return upload(Writer(stage.bucket), "f", stage.size)


class Writer:
    """A bucket as an S3 client sees it, whatever is in front."""

    def __init__(self, bucket):
        self.name, self.s3 = bucket.name, bucket.s3

    def put(self, key, body):
        self.s3.put_object(Bucket=self.name, Key=key, Body=body)


@contextlib.contextmanager
def stage_of(options, is_tos):
    stage = Stage(options, is_tos)
    try:
        yield stage
    finally:
        stage.close()


def main():
    measurements = {"get": get, "cp": cp, "resume": resume, "sizes": sizes}
    parser = argparse.ArgumentParser("Benchmarks/transfers", description=__doc__)
    parser.add_argument("what", nargs="+", choices=[*measurements, "all"])
    parser.add_argument("--size", default="1G")
    parser.add_argument("--part-size", default="20M")
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--server", default="seaweedfs", choices=sorted(SERVERS))
    parser.add_argument("--directory", help="where to work; a disk that is not the servers'")
    options = parser.parse_args()
    for name, measure in measurements.items():
        if name in options.what or "all" in options.what:
            measure(options)


if __name__ == "__main__":
    main()
