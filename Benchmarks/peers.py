"""Compares mounts by the same work, in turns, behind one counting proxy. See README.md beside this file."""

import argparse
import dataclasses
import functools
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

from reading import GIB, MIB, claim_memory, content, upload  # first: it says where the tests' modules are
from conftest import SERVERS, Bucket, client
from contestants import COMMANDS, Contestant, version
from counting import CountingProxy, counted
import writing_rows

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS_AT_RANDOM = 8
TAIL_SIZE = 10 * GIB
WRITERS = 2


@dataclasses.dataclass
class Step:
    """A command in a mount's root; its directory is as the steps before left it."""

    title: str
    command: str
    bytes: int = 0  # what it reads, for CPU a GiB
    counts: bool = False  # it prints how many reads it made


@dataclasses.dataclass
class Row:
    """Steps in one fresh mount, and what must be in the bucket."""

    steps: list
    data: str
    round_trip: float = 0.0
    writes: bool = False


def at_random(block):
    script = shlex.quote(os.path.join(HERE, "at_random.py"))
    command = "%s %s seq/a %d %d" % (shlex.quote(sys.executable), script, block, SECONDS_AT_RANDOM)
    title = "%d KiB at random places of 1 GiB, four readers, %d s" % (block // 1024, SECONDS_AT_RANDOM)
    return Step(title, command, counts=True)


def cold_and_warm(title, command):
    return [Step(title + ", cold", command), Step("the same again", command)]


def read(name):
    return "dd if=seq/%s of=/dev/null bs=1M status=none" % name


SEQUENTIAL = Step("1 GiB in sequence, cold", read("a"), bytes=GIB)
CAT = Step("`cat` of 1,000 files of 16 KiB, cold", "test $(cat cat/* | wc -c) = 16384000")
TAIL = Step("last 1 MiB of 10 GiB", "test $(dd if=tail/big bs=1M skip=%d status=none | wc -c) = %d"
            % (TAIL_SIZE // MIB - 1, MIB))

ROWS = {
    "read": Row([SEQUENTIAL, Step("the same again", read("a"), bytes=GIB)], "seq"),
    "read-20ms": Row([SEQUENTIAL], "seq", 0.02),
    "two": Row([Step("two readers, 1 GiB each, cold", "%s & %s; wait" % (read("a"), read("b")), bytes=2 * GIB)], "seq"),
    "random-4k": Row([at_random(4096)], "seq"),
    "random-128k": Row([at_random(131072)], "seq"),
    "tail": Row([TAIL], "tail"),
    "ls-10k": Row(cold_and_warm("`ls -l` of 10,000 keys", "test $(ls -l ten | wc -l) = 10001"), "ten"),
    "ls-100k": Row(cold_and_warm("`ls -l` of 100,000 keys", "test $(ls -l hundred | wc -l) = 100001"), "hundred"),
    "find": Row([Step("`find` over 500 directories of 20, cold", "test $(find tree -type f | wc -l) = 10000")], "tree"),
    "cat": Row([CAT], "cat"),
    "cat-20ms": Row([CAT], "cat", 0.02),
}
READING = ",".join(ROWS)
ROWS.update(writing_rows.ROWS)


# What the bucket holds.


def put_all(endpoint, bucket, keys, body):
    """Puts many small objects; runs in a process of its own, because the client is what takes the time."""
    s3 = client(endpoint)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: s3.put_object(Bucket=bucket, Key=key, Body=body), keys))


class Store:
    """The bucket, filled as rows ask for it."""

    def __init__(self, bucket):
        self.bucket = bucket
        self.filled = set()
        self.locals = {}

    def local_files(self, directory):
        if not self.locals:
            self.directory = tempfile.mkdtemp(prefix="dipper-peers-", dir=directory)
            self.locals = writing_rows.local_files(self.directory)
        return self.locals

    def close(self):
        if self.locals:
            shutil.rmtree(self.directory, ignore_errors=True)

    def fill(self, name):
        if name in self.filled:
            return
        self.filled.add(name)
        print("filling %s" % name, file=sys.stderr)
        {"seq": self._seq, "tail": self._tail}.get(name, lambda: self._many(name))()

    def _seq(self):
        upload(self.bucket, "seq/a", GIB)
        upload(self.bucket, "seq/b", GIB)

    def _tail(self):
        self.bucket.put("tail/big", content(MIB))

    def _many(self, name):
        keys, body = {
            "ten": (["ten/f%05d" % i for i in range(10000)], b"x"),
            "hundred": (["hundred/f%06d" % i for i in range(100000)], b"x"),
            "tree": (["tree/d%03d/f%02d" % (i // 20, i % 20) for i in range(10000)], b"x"),
            "cat": (["cat/f%04d" % i for i in range(1000)], content(MIB)[:16384]),
        }[name]
        self.put_many(keys, body)

    def put_many(self, keys, body):
        with ProcessPoolExecutor(WRITERS, multiprocessing.get_context("spawn")) as pool:
            shares = [keys[i::WRITERS] for i in range(WRITERS)]
            list(pool.map(functools.partial(put_all, self.bucket.endpoint, self.bucket.name, body=body), shares))

    def pretend_tail(self, proxy):
        """Lets the one MiB behind `tail/big` look like 10 GiB, which nobody has to store."""
        etag = self.bucket.s3.head_object(Bucket=self.bucket.name, Key="tail/big")["ETag"]

        def grow(status, headers, body):
            body = body.replace(b"<Size>%d<" % MIB, b"<Size>%d<" % TAIL_SIZE)
            # The date that the proxy gives to what it pretends.
            return status, headers, re.sub(rb"<LastModified>[^<]*<", b"<LastModified>2026-11-02T08:00:00.000Z<", body)

        listing = {"method": "GET", "path": "^/%s/?$" % self.bucket.name, "rewrite": grow}
        proxy.add_rules({"path": "/tail/big$", "virtual": TAIL_SIZE, "etag": etag}, listing)


# Measuring.


@dataclasses.dataclass
class Figures:
    """One step of one contestant."""

    seconds: float
    failure: str
    cpu: float
    peak: int
    kinds: dict
    bytes: int
    reads: int
    # Until the last request had its answer, and bodies that came from the mount.
    stored: float = 0.0
    sent: int = 0


def run(command, directory, limit, environment=None):
    """Runs a command to its end or its limit: seconds, what went wrong, output."""
    begin = time.monotonic()
    process = subprocess.Popen(["bash", "-c", command], cwd=directory, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, text=True, start_new_session=True,
                               env={**os.environ, **(environment or {})})
    try:
        output, _ = process.communicate(timeout=limit)
        failure = "failed" if process.returncode else ""
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, failure = "", "not done after %d s" % limit
        try:
            process.communicate(timeout=20)  # a mount that hangs holds even a killed reader
        except subprocess.TimeoutExpired:
            failure += ", nor killed"
    return time.monotonic() - begin, failure, output


def settle(proxy, quiet=0.3, limit=5):
    """Waits until what was fetched ahead, or is stored later, has come, so that it is counted; tells when it had."""
    deadline = time.monotonic() + limit
    last, since = None, time.monotonic()
    while time.monotonic() < deadline and time.monotonic() - since < quiet:
        now = proxy.mark(), sum(entry["sent"] + (entry["status"] or 0) for entry in proxy.requests()[-64:])
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.05)
    return since


def measure(contestant, proxy, step, limit, writes=False, environment=None):
    settle(proxy)
    mark = proxy.mark()
    before, _ = contestant.usage()
    begin = time.monotonic()
    seconds, failure, output = run(step.command, contestant.path, limit, environment)
    # Some store a while after a file was closed.
    stored = settle(proxy, 2, limit) - begin if writes else settle(proxy) - begin
    after, peak = contestant.usage()
    kinds, received = counted(proxy.requests(since=mark))
    reads = int(output) if step.counts and not failure else 0
    sent = sum(entry["received"] for entry in proxy.requests(since=mark) if entry["method"] == "PUT")
    return Figures(seconds, failure, after - before, peak, kinds, received, reads, stored if writes else 0.0, sent)


def compare(row, names, store, options):
    """All steps by all contestants: (step index, name) -> figures of each round."""
    if not row.writes:
        store.fill(row.data)
    elif row.data == "big":
        store.fill("seq")
    results = {}
    for number in range(options.rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            proxy = CountingProxy(store.bucket.endpoint, row.round_trip)
            if row.data == "tail":
                store.pretend_tail(proxy)
            directory = tempfile.mkdtemp(prefix="dipper-peers-", dir=options.directory)
            contestant = None
            try:
                environment = {}
                if row.writes:
                    prefix = "%s-%d-%s/" % (name, number, os.path.basename(directory))
                    writing_rows.fill(store, row.data, prefix)
                    environment = {**store.local_files(options.directory), "D": prefix.rstrip("/")}
                contestant = Contestant(name, store.bucket.name, proxy.url, directory, row.writes)
                if row.data == "seq" or row.writes:
                    claim_memory(directory, 3 * GIB)
                for index, step in enumerate(row.steps):
                    figures = measure(contestant, proxy, step, options.limit, row.writes, environment)
                    print("%s, %s: %s" % (name, step.title, text_of(step, [figures])), file=sys.stderr)
                    results.setdefault((index, name), []).append(figures)
            except RuntimeError as failure:
                print(failure, file=sys.stderr)
            finally:
                if contestant:
                    contestant.close()
                proxy.close()
                shutil.rmtree(directory, ignore_errors=True)
    return results


# The table.


def size_text(count):
    for unit, size in (("GiB", GIB), ("MiB", MIB), ("KiB", 1024)):
        if count >= size:
            return "%.4g %s" % (count / size, unit)
    return "%d B" % count


def text_of(step, rounds):
    """One cell: the medians of its rounds, requests of the last."""
    failures = [figures.failure for figures in rounds if figures.failure]
    last = rounds[-1]
    facts = []
    if failures:
        facts.append(failures[-1])
    elif step.counts:
        rate = statistics.median(figures.reads for figures in rounds) / SECONDS_AT_RANDOM
        facts.append("**%s reads/s**" % (round(rate) if rate >= 10 else round(rate, 1)))
        facts.append(size_text(last.bytes / max(1, last.reads)) + " a read")
    else:
        seconds = statistics.median(figures.seconds for figures in rounds)
        stored = statistics.median(figures.stored for figures in rounds)
        facts.append("**%.2f s**" % seconds + (", stored after %.2f s" % stored if stored > seconds + 0.3 else ""))
    cpu = statistics.median(figures.cpu for figures in rounds)
    facts += ["%.2f CPU s" % cpu] + (["%.2f a GiB" % (cpu * GIB / step.bytes)] if step.bytes else [])
    bodies = [size_text(last.bytes)] if not last.stored else ["%s down, %s up" % (size_text(last.bytes), size_text(last.sent))]
    facts += bodies + [ ", ".join("%s %d" % pair for pair in last.kinds.items()) or "no request"]
    return "; ".join(facts)


def print_table(names, lines, peaks):
    print("| work | " + " | ".join(names) + " |")
    print("|---" * (len(names) + 1) + "|")
    for title, cells in lines:
        print("| %s | %s |" % (title, " | ".join(cells)))
    print("| peak resident memory over all | %s |" % " | ".join(size_text(peaks.get(name, 0)) for name in names))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default=READING, help="some of: %s; by default those that read" % ", ".join(ROWS))
    parser.add_argument("--with", dest="names", default=",".join(COMMANDS), help="some of: %(default)s")
    parser.add_argument("--rounds", type=int, default=1, help="how often, in turns; the table has medians")
    parser.add_argument("--limit", type=int, default=120, help="seconds after which a step is given up")
    parser.add_argument("--server", default="seaweedfs")
    parser.add_argument("--directory", help="where mounts and caches go; /dev/shm takes the disk out of the figures")
    options = parser.parse_args()
    for chosen, known in ((options.rows, ROWS), (options.names, COMMANDS)):
        for name in chosen.split(","):
            if name not in known:
                parser.error("there is no %r; there are %s" % (name, ", ".join(known)))
    return options


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that no mount is left behind
    versions = {name: version(name) for name in options.names.split(",")}
    names = [name for name, found in versions.items() if found]
    for name in versions.keys() - set(names):
        print("%s is not on the PATH; going on without it" % name, file=sys.stderr)
    store = Store(Bucket(options.server, SERVERS[options.server]))
    lines, peaks = [], {}
    begin = time.monotonic()
    try:
        for row in [ROWS[chosen] for chosen in options.rows.split(",")]:
            results = compare(row, names, store, options)
            away = ", %d ms round trip" % (1000 * row.round_trip) if row.round_trip else ""
            for index, step in enumerate(row.steps):
                found = [results.get((index, name)) for name in names]
                lines.append((step.title + away, [text_of(step, f) if f else "did not mount" for f in found]))
            for (_, name), rounds in results.items():
                peaks[name] = max([peaks.get(name, 0)] + [figures.peak for figures in rounds])
    finally:
        store.close()
        print("; ".join(versions[name] for name in names) + "; --rounds %d, %d s in all\n"
              % (options.rounds, time.monotonic() - begin))
        print_table(names, lines, peaks)


if __name__ == "__main__":
    main()
