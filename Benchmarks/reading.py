"""Measures reading through a mount. See README.md beside this file."""

import argparse
import hashlib
import html
import http.client
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from urllib.parse import urlsplit

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "Tests", "EndToEnd"))

from botocore.auth import S3SigV4Auth  # noqa: E402
from botocore.awsrequest import AWSRequest  # noqa: E402
from botocore.credentials import Credentials  # noqa: E402
from conftest import SERVERS, Bucket, Mount, alive, run, wait_for  # noqa: E402
from weather import Proxy  # noqa: E402

MIB = 1 << 20
GIB = 1 << 30
DIPPER = os.environ["DIPPER_BINARY"]


def size_of(text):
    units = {"K": 1 << 10, "M": MIB, "G": GIB}
    return int(text[:-1]) * units[text[-1]] if text[-1] in units else int(text)


def content(size):
    """Bytes that don't compress and cost little to make."""
    block = random.Random(size).randbytes(MIB)
    return (block * (size // MIB + 1))[:size]


def upload(bucket, key, size):
    """Puts an object of `size` by multipart, 64 MiB a part."""
    data = content(size)
    if size <= 64 * MIB:
        bucket.put(key, data)
        return hashlib.sha256(data).hexdigest()
    facts = dict(Bucket=bucket.name, Key=key)
    upload_id = bucket.s3.create_multipart_upload(**facts)["UploadId"]
    parts = []
    for number, at in enumerate(range(0, size, 64 * MIB), 1):
        answer = bucket.s3.upload_part(PartNumber=number, UploadId=upload_id, Body=data[at : at + 64 * MIB], **facts)
        parts.append({"PartNumber": number, "ETag": answer["ETag"]})
    bucket.s3.complete_multipart_upload(UploadId=upload_id, MultipartUpload={"Parts": parts}, **facts)
    return hashlib.sha256(data).hexdigest()


def usage(pid):
    """CPU seconds so far and peak resident bytes of a process."""
    fields = open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()
    ticks = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    peak = [line for line in open("/proc/%d/status" % pid) if line.startswith("VmHWM")][0]
    return ticks, int(peak.split()[1]) * 1024


def timed(command):
    begin = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - begin


def parallel_curl(url, size, count, directory):
    """Fetches the object as `count` parallel ranges to nowhere with curl."""
    step = size // count
    config = os.path.join(directory, "curl.cfg")
    with open(config, "w") as file:
        for i in range(count):
            end = size - 1 if i == count - 1 else (i + 1) * step - 1
            if i:
                file.write("next\n")
            file.write('url = "%s"\noutput = "/dev/null"\nrange = "%d-%d"\nsilent\nfail\n' % (url, i * step, end))
    return timed(["curl", "--parallel", "--parallel-immediate", "--parallel-max", str(count), "--config", config])


def drop_pages():
    subprocess.run(["sync"])
    with open("/proc/sys/vm/drop_caches", "w") as file:
        file.write("1\n")


def claim_memory(directory, size=2 * GIB):
    """Writes a file and removes it: a virtual machine is handed memory at its first use, which is slow, and
    whoever fills a cache first would pay for all."""
    path = os.path.join(directory, "memory")
    timed(["dd", "if=/dev/zero", "of=" + path, "bs=1M", "count=%d" % (size // MIB)])
    os.unlink(path)


def median(values):
    return statistics.median(values)


class Stage:
    """A server's bucket, a directory to work in, a mount made anew for each round."""

    def __init__(self, options):
        self.options = options
        self.server = options.server
        self.bucket = Bucket(self.server, SERVERS[self.server])
        self.directory = tempfile.mkdtemp(prefix="dipper-bench-", dir=options.directory)
        self.made = []

    def mount(self, endpoint=None, cache=None, options=()):
        mount = Mount(self.bucket.url, os.path.join(self.directory, "mnt%d" % len(self.made)),
                      endpoint or self.bucket.endpoint, cache=cache, options=list(options))
        self.made.append(mount)
        return mount.start()

    def close(self):
        for mount in self.made:
            mount.clear()
        shutil.rmtree(self.directory, ignore_errors=True)


def cold(stage):
    size = size_of(stage.options.size)
    upload(stage.bucket, "f", size)
    url = stage.bucket.s3.generate_presigned_url("get_object", Params={"Bucket": stage.bucket.name, "Key": "f"})
    rows = []
    for number in range(stage.options.rounds + 1):
        curl = parallel_curl(url, size, stage.options.streams, stage.directory)
        mount = stage.mount()
        claim_memory(stage.directory, 2 * size)
        pid = mount.pid
        before, _ = usage(pid)
        seconds = timed(["dd", "if=" + (mount / "f"), "of=/dev/null", "bs=1M"])
        after, peak = usage(pid)
        counters = mount.status()["counters"]
        mount.stop()
        shutil.rmtree(mount.cache)
        if number:  # the first round warms the server
            rows.append((curl, seconds, after - before, peak, counters))
    gib = size / GIB
    print(json.dumps({
        "benchmark": "cold", "bytes": size, "rounds": len(rows),
        "curl_seconds": round(median(r[0] for r in rows), 3), "dipper_seconds": round(median(r[1] for r in rows), 3),
        "speed_to_curl": round(median(r[0] / r[1] for r in rows), 3),
        "ratios": [round(r[0] / r[1], 2) for r in rows],
        "cpu_seconds_per_gib": round(median(r[2] for r in rows) / gib, 3),
        "peak_mib": round(max(r[3] for r in rows) / MIB, 1),
        "requests": rows[-1][4]["requests"], "bytes_received": rows[-1][4]["bytes_received"],
    }))


def warm(stage):
    size = size_of(stage.options.size)
    upload(stage.bucket, "f", size)
    mount = stage.mount()
    timed(["dd", "if=" + (mount / "f"), "of=/dev/null", "bs=1M"])
    data = [os.path.join(root, name) for root, _, files in os.walk(mount.cache) for name in files if name == "data"]
    assert len(data) == 1
    mount.stop()
    rows = {"warm": [], "warm-no-passthrough": []}
    for number in range(stage.options.rounds + 1):
        for name, options in (("warm", []), ("warm-no-passthrough", ["--no-passthrough"])):
            mount.options = options
            row = warm_round(mount, data[0])
            if number:
                rows[name].append(row)
    for name, found in rows.items():
        print(json.dumps({
            "benchmark": name, "bytes": size, "rounds": len(found),
            "native_seconds": round(median(r["native"] for r in found), 3),
            "first_touch_ratio": round(median(r["native"] / r["first"] for r in found), 3),
            "verified_ratio": round(median(r["native"] / r["second"] for r in found), 3),
            "kernel_pages_ratio": round(median(r["native"] / r["third"] for r in found), 3),
            "verified_ratios": [round(r["native"] / r["second"], 2) for r in found],
            "cpu_seconds": round(median(r["cpu"] for r in found), 3),
            "bytes_asked_for": max(r["asked"] for r in found),
            "passthrough_opens": max(r["opens"] for r in found),
            "peak_mib": round(max(r["peak"] for r in found) / MIB, 1),
            "bytes_received": max(r["received"] for r in found),
        }))


def warm_round(mount, data):
    # The cached file's own pages stay in memory for both, so that the disk isn't what is measured.
    timed(["dd", "if=" + data, "of=/dev/null", "bs=1M"])
    native = timed(["dd", "if=" + data, "of=/dev/null", "bs=1M"])
    mount.start()
    pid = mount.pid
    first = timed(["dd", "if=" + (mount / "f"), "of=/dev/null", "bs=1M"])  # verifies what it serves
    # The mount's own pages are dropped; this open counts as one.
    run(["sh", "-c", "dd if=%s iflag=nocache count=0 status=none" % (mount / "f")])
    before, _ = usage(pid)
    counted = mount.status()["counters"]["cache_hit_bytes"]
    second = timed(["dd", "if=" + (mount / "f"), "of=/dev/null", "bs=1M"])
    after, peak = usage(pid)
    counters = mount.status()["counters"]
    third = timed(["dd", "if=" + (mount / "f"), "of=/dev/null", "bs=1M"])
    received = mount.status()["counters"]["bytes_received"]
    mount.stop()
    return {"native": native, "first": first, "second": second, "third": third, "cpu": after - before, "peak": peak,
            "asked": counters["cache_hit_bytes"] - counted, "opens": counters.get("passthrough_opens", 0),
            "received": received}


def kill(stage):
    size = size_of(stage.options.size)
    digest = upload(stage.bucket, "f", size)
    proxy = Proxy(stage.bucket.endpoint)
    mount = stage.mount(endpoint=proxy.url)
    file = os.open(mount / "f", os.O_RDONLY)
    done = 0
    while done < 0.7 * size:
        done += len(os.read(file, MIB))
    mount.kill()
    os.close(file)
    first = proxy.body_bytes("/f")
    mount.start()
    same = hashlib.sha256(mount.read("f")).hexdigest() == digest
    total = proxy.body_bytes("/f")
    mount.stop()
    print(json.dumps({"benchmark": "kill-mount", "bytes": size, "read_at_kill": done, "fetched_at_kill": first,
                      "fetched_in_all": total, "again_mib": round((total - size) / MIB, 2), "sha256_equal": same}))

    begin = proxy.mark()
    target = os.path.join(stage.directory, "target")
    command = [DIPPER, "get", stage.bucket.url + "/f", target, "--endpoint", proxy.url]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(lambda: proxy.body_bytes("/f", begin) > 0.7 * size, "70 %", 300)
    process.send_signal(signal.SIGKILL)
    process.wait()
    first = proxy.body_bytes("/f", begin)
    subprocess.run(command, check=True)
    total = proxy.body_bytes("/f", begin)
    with open(target, "rb") as file:
        same = hashlib.file_digest(file, "sha256").hexdigest() == digest
    print(json.dumps({"benchmark": "kill-get", "bytes": size, "fetched_at_kill": first, "fetched_in_all": total,
                      "again_mib": round((total - size) / MIB, 2), "sha256_equal": same}))
    proxy.close()


def random_reads(stage):
    size = 1 << 30
    upload(stage.bucket, "f", size)
    proxy = Proxy(stage.bucket.endpoint)
    url = stage.bucket.s3.generate_presigned_url("get_object", Params={"Bucket": stage.bucket.name, "Key": "f"})
    import requests

    bare = requests.Session()
    for block in (4096, 131072):
        mount = stage.mount(endpoint=proxy.url)
        file = os.open(mount / "f", os.O_RDONLY)
        places = random.Random(block)
        begin = proxy.mark()
        through, direct = [], []
        for _ in range(200):
            at = places.randrange(0, size - block) & ~4095
            started = time.monotonic()
            os.pread(file, block, at)
            through.append(time.monotonic() - started)
            started = time.monotonic()
            bare.get(url, headers={"Range": "bytes=%d-%d" % (at, at + 131071)}).content
            direct.append(time.monotonic() - started)
        got = [r for r in proxy.requests("GET", "/f", begin)]
        print(json.dumps({"benchmark": "random", "block": block, "reads": 200,
                          "requests_per_read": len(got) / 200, "bytes_per_read": sum(r["sent"] for r in got) / 200,
                          "milliseconds": round(1000 * median(through), 2),
                          "bare_milliseconds": round(1000 * median(direct), 2)}))
        os.close(file)
        mount.stop()
    proxy.close()


def small(stage):
    from concurrent.futures import ThreadPoolExecutor

    count, size = 1000, 16384
    data = content(count * size)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda i: stage.bucket.put("d/f%05d" % i, data[i * size : (i + 1) * size]), range(count)))
    proxy = Proxy(stage.bucket.endpoint)
    for delay in (0, 0.02):
        proxy.rules = [{"delay": delay}]
        for name, command in (("cat", "cat d/*"), ("tar", "tar cf - d | cat"), ("grep", "grep -r no-such-text d; true")):
            rows = []
            for _ in range(stage.options.rounds):
                mount = stage.mount(endpoint=proxy.url if delay else None)
                pid = mount.pid
                before, _ = usage(pid)
                begin = time.monotonic()
                subprocess.run(["sh", "-c", command], cwd=mount.path, check=True, stdout=subprocess.DEVNULL)
                seconds = time.monotonic() - begin
                after, peak = usage(pid)
                rows.append((seconds, after - before, peak, mount.status()["counters"]["requests"]))
                mount.stop()
                shutil.rmtree(mount.cache)
            print(json.dumps({"benchmark": "small", "files": count, "bytes": size, "reader": name,
                              "delay_milliseconds": round(1000 * delay), "seconds": round(median(r[0] for r in rows), 3),
                              "rounds": [round(r[0], 2) for r in rows], "cpu_seconds": round(median(r[1] for r in rows), 3),
                              "peak_mib": round(max(r[2] for r in rows) / MIB, 1), "requests": rows[-1][3]}), flush=True)
    proxy.close()


def fill(bucket, keys):
    """Puts a byte at each key, many at a time."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(16) as pool:
        for _ in pool.map(lambda key: bucket.put(key, b"x"), keys):
            pass


def resident(mount):
    return mount.status()["memory"]["resident_bytes"]


def listing(stage):
    count = stage.options.keys
    fill(stage.bucket, ["d/f%06d" % i for i in range(count)])
    proxy = Proxy(stage.bucket.endpoint)
    proxy.rules = [{"delay": stage.options.delay / 1000}]
    endpoint = proxy.url if stage.options.delay else None
    for number in range(stage.options.rounds + 1):
        begin = time.monotonic()
        pages = bare_pages(stage, endpoint)
        bare = time.monotonic() - begin
        mount = stage.mount(endpoint=endpoint, options=["--metadata-ttl", "600"])
        os.stat(mount / "d")
        before = resident(mount)
        cpu, _ = usage(mount.pid)
        cold_seconds = timed(["ls", "-l", mount / "d"])
        cold_cpu = usage(mount.pid)[0] - cpu
        requests = mount.status()["counters"]["requests"]
        after = resident(mount)
        warm_seconds = timed(["ls", "-l", mount / "d"])
        names_seconds = timed(["ls", "-U", mount / "d"])
        mount.stop()
        if number:  # the first round warms the server
            print(json.dumps({"benchmark": "list", "keys": count, "delay_milliseconds": stage.options.delay,
                              "pages": pages, "bare_seconds": round(bare, 3),
                              "cold_seconds": round(cold_seconds, 3), "cold_to_bare": round(cold_seconds / bare, 2),
                              "cold_cpu_seconds": round(cold_cpu, 3),
                              "warm_seconds": round(warm_seconds, 3), "warm_names_seconds": round(names_seconds, 3),
                              "requests": requests, "resident_bytes_per_key": round((after - before) / count),
                              "resident_mib": round(after / MIB, 1), "load": os.getloadavg()[0]}), flush=True)
    proxy.close()


def bare_pages(stage, endpoint=None):
    """Lists `d/` page by page over one connection, reading no more of an answer than the token for the next;
    returns the number of pages."""
    credentials = Credentials(os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"])
    signer = S3SigV4Auth(credentials, "s3", "us-east-1")
    endpoint = endpoint or stage.bucket.endpoint
    connection = http.client.HTTPConnection(urlsplit(endpoint).netloc)
    facts = {"list-type": "2", "prefix": "d/", "delimiter": "/"}
    pages = 0
    while True:
        request = AWSRequest("GET", "%s/%s" % (endpoint, stage.bucket.name), params=facts)
        signer.add_auth(request)
        prepared = request.prepare()
        parts = urlsplit(prepared.url)
        connection.request("GET", parts.path + "?" + parts.query, headers=dict(prepared.headers.items()))
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body[:500]
        pages += 1
        token = re.search(b"<NextContinuationToken>([^<]+)<", body)
        if not token:
            connection.close()
            return pages
        facts["continuation-token"] = html.unescape(token[1].decode())


def finding(stage):
    fill(stage.bucket, ["t/d%03d/f%02d" % (d, f) for d in range(500) for f in range(20)])
    for number in range(stage.options.rounds + 1):
        mount = stage.mount(options=["--metadata-ttl", "600"])
        os.stat(mount / "t")
        before = mount.status()["counters"]["requests"]
        cold_seconds = timed(["find", mount / "t", "-type", "f"])
        after = mount.status()["counters"]["requests"]
        warm_seconds = timed(["find", mount / "t", "-type", "f"])
        found = run(["find", mount / "t", "-type", "f"]).stdout.count("\n")
        mount.stop()
        if number:
            print(json.dumps({"benchmark": "find", "directories": 500, "found": found,
                              "cold_seconds": round(cold_seconds, 3), "warm_seconds": round(warm_seconds, 3),
                              "requests_before": before, "requests": after, "load": os.getloadavg()[0]}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    works = {"cold": cold, "warm": warm, "kill": kill, "random": random_reads, "small": small,
             "list": listing, "find": finding}
    parser.add_argument("work", choices=works)
    parser.add_argument("--size", default="1G")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keys", type=int, default=10000)
    parser.add_argument("--delay", type=int, default=0, help="milliseconds before each request of `list`")
    parser.add_argument("--streams", type=int, default=8)
    parser.add_argument("--server", default="seaweedfs")
    parser.add_argument("--directory", help="where mounts and caches go; /dev/shm takes the disk out of the figures")
    stage = Stage(parser.parse_args())
    try:
        works[stage.options.work](stage)
    finally:
        stage.close()


if __name__ == "__main__":
    main()
