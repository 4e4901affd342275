"""Dipper and its peers as processes that mount a bucket: the same cache on disk, the same budget of
requests (16 MiB pieces and 8 streams where there is such an option), names believed for 5 minutes."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys

from conftest import DIPPER, is_mounted, wait_for
from reading import usage

KEY = os.environ["AWS_ACCESS_KEY_ID"]
SECRET = os.environ["AWS_SECRET_ACCESS_KEY"]


def dipper(mount):
    return [DIPPER, "mount", "--foreground", "s3://" + mount.bucket, mount.path, "--endpoint", mount.endpoint,
            "--cache-dir", mount.cache, "--metadata-ttl", "300"] + ([] if mount.writes else ["--read-only"])


def s3fs(mount):
    secrets = mount.file("passwd", "%s:%s\n" % (KEY, SECRET))
    options = ["url=" + mount.endpoint, "use_path_request_style", "passwd_file=" + secrets, "use_cache=" + mount.cache,
               "endpoint=us-east-1", "sigv4", "rw" if mount.writes else "ro", "multipart_size=16", "parallel_count=8", "multireq_max=20",
               "max_stat_cache_size=200000", "enable_noobj_cache", "stat_cache_expire=300"]
    return ["s3fs", mount.bucket, mount.path, "-f", "-o", ",".join(options)]


def rclone(mount):
    facts = {"type": "s3", "provider": "Other", "access_key_id": KEY, "secret_access_key": SECRET,
             "region": "us-east-1", "endpoint": mount.endpoint, "force_path_style": "true", "no_check_bucket": "true",
             "list_version": "2"}
    config = mount.file("rclone.conf", "[store]\n" + "".join("%s = %s\n" % fact for fact in facts.items()))
    return ["rclone", "mount", "store:" + mount.bucket, mount.path, "--config", config, "--cache-dir", mount.cache,
            *(["--vfs-write-back", "0s"] if mount.writes else ["--read-only"]), "--vfs-cache-mode", "full", "--vfs-read-chunk-size", "16M", "--vfs-read-chunk-streams", "8",
            "--buffer-size", "16M", "--use-server-modtime", "--dir-cache-time", "5m"]


COMMANDS = {"dipper": dipper, "s3fs": s3fs, "rclone": rclone}
VERSIONS = {"dipper": [DIPPER, "--version"], "s3fs": ["s3fs", "--version"], "rclone": ["rclone", "version"]}


def version(name):
    """What the program calls itself, or None if it isn't there."""
    if not shutil.which(VERSIONS[name][0]):
        return None
    return subprocess.run(VERSIONS[name], capture_output=True, text=True).stdout.splitlines()[0]


class Contestant:
    """A mount in the foreground of its own process, with an empty cache."""

    def __init__(self, name, bucket, endpoint, directory, writes=False):
        self.name = name
        self.bucket = bucket
        self.endpoint = endpoint
        self.writes = writes
        self.directory = os.path.join(directory, name)
        self.path = os.path.join(self.directory, "mount")
        self.cache = os.path.join(self.directory, "cache")
        os.makedirs(self.path)
        os.makedirs(self.cache)
        with open(os.path.join(self.directory, "log"), "w") as log:
            self.process = subprocess.Popen(COMMANDS[name](self), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True)
        with contextlib.suppress(AssertionError):
            wait_for(lambda: is_mounted(self.path) or self.process.poll() is not None, "%s to mount" % name, 60)
        if not is_mounted(self.path):
            self.close()
            raise RuntimeError("%s did not mount" % name)

    def file(self, name, text):
        """Writes a file that only this user may read, beside the mount."""
        path = os.path.join(self.directory, name)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            file.write(text)
        return path

    def usage(self):
        """CPU seconds so far and peak resident bytes; those of a process that died are lost."""
        try:
            return usage(self.process.pid)
        except (OSError, IndexError):
            return 0.0, 0

    def close(self):
        """Unmounts, forcibly if it must be, and leaves nothing behind."""
        if is_mounted(self.path):
            subprocess.run(["fusermount3", "-u", self.path], capture_output=True)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        while is_mounted(self.path):
            if subprocess.run(["umount", "-l", self.path], capture_output=True).returncode:
                break
        with open(os.path.join(self.directory, "log")) as log:
            for line in log.read().splitlines()[-3:] if self.process.returncode else []:
                print("%s: %s" % (self.name, line), file=sys.stderr)
        shutil.rmtree(self.directory, ignore_errors=True)
