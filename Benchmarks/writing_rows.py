"""The rows of peers.py that write: what must be in the bucket, and what is done in a mount of it.

Each mount works below a directory of its own, `$D`; `$NOISE` is a local file of 1 GiB of random bytes.
"""

import dataclasses
import os
import subprocess
import tarfile

from reading import GIB, MIB, content

FILES = 1000
UNPACKED = 2000
REMOVED = 10000
PIECE = 64 * MIB


@dataclasses.dataclass
class Step:
    """A command in a mount's root; its directory is as the steps before left it."""

    title: str
    command: str
    bytes: int = 0  # what it writes, for CPU a GiB
    counts: bool = False


@dataclasses.dataclass
class Row:
    """Steps in one fresh mount, and what must be below its directory."""

    steps: list
    data: str
    round_trip: float = 0.0
    writes: bool = True


def sized(path, size):
    return "test $(stat -c %%s %s) = %d" % (path, size)


RENAME = Step("`mv` of a directory of 1,000 keys", "mv $D/dir $D/moved && test $(ls $D/moved | wc -l) = %d" % FILES)

ROWS = {
    "write": Row([Step("1 GiB written in sequence", "dd if=$NOISE of=$D/big bs=1M status=none", bytes=GIB)], ""),
    "create": Row([
        Step("500 files of 4 KiB created",
             "for i in $(seq 500); do dd if=$NOISE of=$D/f$i bs=4k count=1 status=none; done"),
        Step("`rm` of them", "rm $D/f*")], ""),
    "untar": Row([Step("`tar x` of 2,000 files of 4 KiB", "tar xf $TAR -C $D && test $(ls $D | wc -l) = 2000")], ""),
    "remove": Row([Step("`rm -r` of 10,000 files in 10 directories", "rm -r $D/many && test ! -e $D/many")], "many"),
    "edit": Row([Step("one byte changed in 1 GiB", "printf x | dd of=$D/a bs=1 seek=500000000 conv=notrunc status=none")],
                "big"),
    "copy": Row([
        Step("`cp` of 1 GiB inside the mount", "cp $D/a $D/b && " + sized("$D/b", GIB)),
        Step("`mv` of 1 GiB inside the mount", "mv $D/b $D/c && " + sized("$D/c", GIB))], "big"),
    "cat4": Row([Step("`cat` of four files of 64 MiB into one", "cat $D/p0 $D/p1 $D/p2 $D/p3 > $D/all && "
                      + sized("$D/all", 4 * PIECE))], "pieces"),
    "rename": Row([RENAME], "dir"),
    "rename-20ms": Row([RENAME], "dir", 0.02),
}


def local_files(directory):
    """Makes what is copied into mounts: the environment of the commands."""
    noise, archive = os.path.join(directory, "noise"), os.path.join(directory, "files.tar")
    with open(noise, "wb") as file:
        file.write(content(GIB))
    with tarfile.open(archive, "w") as tar:
        for i in range(UNPACKED):
            with open(noise, "rb") as body:
                body.seek(4096 * i)
                facts = tarfile.TarInfo("f%04d" % i)
                facts.size = 4096
                tar.addfile(facts, body)
    subprocess.run(["sync"], check=True)
    return {"NOISE": noise, "TAR": archive}


def fill(store, data, prefix):
    """Puts a row's objects below a prefix; `store` knows how to put many, and has `seq/a` of 1 GiB."""
    s3, bucket = store.bucket.s3, store.bucket.name
    store.bucket.put(prefix, b"")
    if data == "big":
        s3.copy({"Bucket": bucket, "Key": "seq/a"}, bucket, prefix + "a")
    elif data == "pieces":
        for i in range(4):
            store.bucket.put("%sp%d" % (prefix, i), content(PIECE))
    elif data == "dir":
        store.put_many(["%sdir/f%04d" % (prefix, i) for i in range(FILES)], b"x" * 100)
    elif data == "many":
        store.put_many(["%smany/d%d/f%04d" % (prefix, i % 10, i) for i in range(REMOVED)], b"x")
