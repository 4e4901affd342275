"""Bad input: one sentence, a code that is not 0, nothing left behind."""

import os
import shutil
import ssl
import subprocess

import pytest

from conftest import DIPPER, is_mounted, one_sentence, run
from weather import Proxy


def refused(mount, *words, code=1):
    result = mount.try_start()
    assert result.returncode == code, (result.returncode, result.stdout, result.stderr)
    sentence = one_sentence(result.stderr)
    for word in words:
        assert word.lower() in sentence.lower(), sentence
    assert not is_mounted(mount.path)
    assert "cache" not in os.listdir(os.path.dirname(mount.path))
    return sentence


def test_wrong_secret(strict_bucket, mounts):
    mount = mounts(strict_bucket.url, strict_bucket.endpoint, environment={"AWS_SECRET_ACCESS_KEY": "wrong"})
    sentence = refused(mount, "SignatureDoesNotMatch")
    assert "wrong" not in sentence.split()


def test_unknown_key(strict_bucket, mounts):
    refused(mounts(strict_bucket.url, strict_bucket.endpoint, environment={"AWS_ACCESS_KEY_ID": "AKIDNOBODY"}),
            "InvalidAccessKeyId")


def test_no_credentials(strict_bucket, mounts, tmp_path):
    empty = {name: None for name in os.environ if name.startswith("AWS_")} | {"HOME": str(tmp_path)}
    refused(mounts(strict_bucket.url, strict_bucket.endpoint, environment=empty), "credentials")


def test_wrong_bucket(bucket, mounts):
    refused(mounts("s3://no-such-bucket-here", bucket.endpoint), "no-such-bucket-here")


def test_a_url_that_names_one_object(bucket, mounts):
    bucket.put("d/f", b"x")
    sentence = refused(mounts(bucket.url + "/d/f", bucket.endpoint), bucket.url + "/d/f is one object", "dipper get")
    assert bucket.url + "/d/," in sentence
    # What is below it makes it a directory all the same.
    if bucket.server != "seaweedfs":  # which keeps objects as files, and so has no key below another
        bucket.put("d/f/g", b"x")
        mounts(bucket.url + "/d/f", bucket.endpoint).start()


def test_unreachable_endpoint(strict_bucket, mounts):
    refused(mounts(strict_bucket.url, "http://127.0.0.1:9", options=["--deadline", "3"]), "127.0.0.1:9")


def test_an_endpoint_that_does_not_speak_tls(bucket, mounts):
    sentence = refused(mounts(bucket.url, bucket.endpoint.replace("http:", "https:"), options=["--deadline", "3"]),
                       "try http://")
    assert "SSL" not in sentence


def test_unresolvable_endpoint(strict_bucket, mounts):
    refused(mounts(strict_bucket.url, "http://nowhere.invalid:9000", options=["--deadline", "3"]), "nowhere.invalid")


@pytest.fixture
def tls(tmp_path, strict_bucket):
    """A TLS end in front of the server, with a certificate of its own authority."""
    import socket
    import threading

    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", certificate],
                   check=True, capture_output=True)
    proxy = Proxy(strict_bucket.endpoint)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = socket.create_server(("127.0.0.1", 0))

    def pump(source, sink):
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
        except OSError:
            pass
        finally:
            for end in (source, sink):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

    def serve():
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return

            def one(client=client):
                try:
                    secure = context.wrap_socket(client, server_side=True)
                except (OSError, ssl.SSLError):
                    client.close()
                    return
                upstream = socket.create_connection(("127.0.0.1", proxy.port))
                threading.Thread(target=pump, args=(upstream, secure), daemon=True).start()
                pump(secure, upstream)

            threading.Thread(target=one, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield "https://localhost:%d" % server.getsockname()[1], str(certificate)
    server.close()
    proxy.close()


def test_untrusted_certificate(strict_bucket, mounts, tls):
    refused(mounts(strict_bucket.url, tls[0]), "certificate")


def test_a_custom_authority_is_trusted(strict_bucket, mounts, tls):
    strict_bucket.put("f", b"secure")
    mount = mounts(strict_bucket.url, tls[0], environment={"AWS_CA_BUNDLE": tls[1]}).start()
    assert mount.read("f") == b"secure"


@pytest.mark.parametrize("option,value", [
    ("--part-size", "banana"), ("--part-size", "1"), ("--memory", "-1"), ("--parallel", "x"), ("--uid", "root!"),
    ("--file-mode", "999"), ("--metadata-ttl", "soon"), ("--deadline", "-3"), ("--cache-size", "5Q"),
    ("--no-such-option", None), ("--log-level", "loud"), ("--endpoint", "not a url"), ("-o", "nonsense=1"),
])
def test_bad_options_name_themselves(strict_bucket, mounts, option, value):
    mount = mounts(strict_bucket.url, strict_bucket.endpoint, options=[option] + ([value] if value else []))
    sentence = refused(mount, code=2)
    assert (value.split("=")[0] if option == "-o" else option.lstrip("-")) in sentence, sentence


@pytest.mark.parametrize("arguments", [
    [], ["mount"], ["mount", "s3://b"], ["mount", "http://b", "/mnt"], ["mount", "s3://", "/mnt"], ["frobnicate"],
    ["ls"], ["get"], ["get", "s3://b"], ["mount", "s3://Bad_Bucket!", "/mnt"],
    ["ls", "s3://b", "--endpoint", "127.0.0.1:9000"], ["ls", "s3://b", "--endpoint", "localhost:9000"],
])
def test_bad_usage(arguments):
    result = run([DIPPER] + arguments)
    assert result.returncode == 2, result
    assert result.stderr.strip()


def test_mountpoint_missing(strict_bucket, mounts, tmp_path):
    mount = mounts(strict_bucket.url, strict_bucket.endpoint, directory=tmp_path / "missing")
    result = run(mount.command())
    assert result.returncode == 1 and str(tmp_path / "missing") in one_sentence(result.stderr)
    assert not os.path.exists(mount.path)


def test_mountpoint_is_a_file(strict_bucket, mounts, tmp_path):
    (tmp_path / "file").write_text("x")
    mount = mounts(strict_bucket.url, strict_bucket.endpoint, directory=tmp_path / "file")
    result = run(mount.command())
    assert result.returncode == 1 and "directory" in one_sentence(result.stderr)


def test_mountpoint_not_empty(strict_bucket, mounts, tmp_path):
    (tmp_path / "mnt").mkdir()
    (tmp_path / "mnt" / "precious").write_text("x")
    refused(mounts(strict_bucket.url, strict_bucket.endpoint, directory=tmp_path / "mnt"), "empty")
    assert (tmp_path / "mnt" / "precious").read_text() == "x"


def test_mountpoint_already_mounted(strict_bucket, mounts):
    strict_bucket.put("f", b"x")
    first = mounts(strict_bucket.url, strict_bucket.endpoint).start()
    again = mounts(strict_bucket.url, strict_bucket.endpoint, directory=first.path, cache=first.path + ".other")
    result = again.try_start()
    assert result.returncode == 1 and "mounted" in one_sentence(result.stderr)
    assert first.read("f") == b"x"


def test_cache_directory_is_a_symlink(strict_bucket, mounts, tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    refused(mounts(strict_bucket.url, strict_bucket.endpoint, cache=tmp_path / "link"), "symbolic link")
    assert os.listdir(tmp_path / "real") == []


def test_cache_directory_is_world_writable(strict_bucket, mounts, tmp_path):
    (tmp_path / "open").mkdir()
    os.chmod(tmp_path / "open", 0o777)
    refused(mounts(strict_bucket.url, strict_bucket.endpoint, cache=tmp_path / "open"), str(tmp_path / "open"))


def test_cache_directory_is_unwritable(strict_bucket, mounts, tmp_path):
    refused(mounts(strict_bucket.url, strict_bucket.endpoint, cache="/proc/dipper-cache"), "/proc/dipper-cache")


def test_cache_directory_on_a_full_disk(strict_bucket, mounts, tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=64,mode=700", "tmpfs", small], check=True)
    try:
        with open(small / "filler", "wb", buffering=0) as filler:
            with pytest.raises(OSError):
                while True:
                    filler.write(b"x" * 4096)
        mount = mounts(strict_bucket.url, strict_bucket.endpoint, cache=small / "cache")
        result = mount.try_start()
        assert result.returncode == 1 and not is_mounted(mount.path), result
        sentence = one_sentence(result.stderr)
        assert str(small / "cache") in sentence and "full" in sentence and "--cache-dir" in sentence, sentence
    finally:
        subprocess.run(["umount", "-l", small], capture_output=True)


@pytest.mark.parametrize("limit", [16, 24, 32, 48, 100])
def test_too_few_open_files(strict_bucket, mounts, limit):
    mount = mounts(strict_bucket.url, strict_bucket.endpoint)
    os.makedirs(mount.path)
    result = run(["prlimit", "--nofile=%d:%d" % (limit, limit)] + mount.command())
    assert result.returncode == 1 and not is_mounted(mount.path), result
    sentence = one_sentence(result.stderr)
    assert "only %d files" % limit in sentence and "RLIMIT_NOFILE" in sentence, sentence


def test_dev_fuse_missing(strict_bucket, mounts, tmp_path):
    mount = mounts(strict_bucket.url, strict_bucket.endpoint)
    os.makedirs(mount.path)
    hidden = ["unshare", "-m", "sh", "-c", 'mount --bind /dev/null /dev/fuse && exec "$@"', "sh"]
    result = run(hidden + mount.command())
    assert result.returncode == 1 and "/dev/fuse" in one_sentence(result.stderr)


def test_get_of_a_missing_object(bucket, tmp_path):
    result = run([DIPPER, "get", bucket.url + "/nope", str(tmp_path / "f"), "--endpoint", bucket.endpoint])
    assert result.returncode == 1 and "nope" in one_sentence(result.stderr)
    assert os.listdir(tmp_path) == []


def test_get_into_a_missing_directory(bucket, tmp_path):
    bucket.put("f", b"x")
    result = run([DIPPER, "get", bucket.url + "/f", "./no/f", "--endpoint", bucket.endpoint], cwd=tmp_path)
    assert result.returncode == 1
    sentence = one_sentence(result.stderr)
    assert "directory %s " % (tmp_path / "no") in sentence and "/./" not in sentence, sentence


@pytest.mark.parametrize("name", ["..", "d/", "n" * 256])
def test_get_of_a_key_that_can_name_no_file_asks_for_a_name(strict_bucket, tmp_path, name):
    command = [DIPPER, "get", strict_bucket.url + "/a/" + name, "--endpoint", strict_bucket.endpoint]
    result = run(command, cwd=tmp_path)
    assert result.returncode == 2 and "FILE" in one_sentence(result.stderr)
    assert os.listdir(tmp_path) == []


def test_get_with_a_temporary_file_elsewhere(bucket, tmp_path):
    bucket.put("f", b"x")
    other = tmp_path / "other"
    other.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", other], check=True)
    try:
        result = run([DIPPER, "get", bucket.url + "/f", str(tmp_path / "f"), "--endpoint", bucket.endpoint,
                      "--temp-file", str(other / "part")])
        assert result.returncode == 1 and "file system" in one_sentence(result.stderr)
        assert os.listdir(other) == [] and os.listdir(tmp_path) == ["other"]
    finally:
        subprocess.run(["umount", "-l", other], capture_output=True)


def test_a_get_that_is_refused_leaves_nothing(bucket, tmp_path):
    bucket.put("f", b"x")
    (tmp_path / "notes").write_text("somebody's")
    command = [DIPPER, "get", bucket.url + "/f", str(tmp_path / "f"), "--endpoint", bucket.endpoint]
    result = run(command + ["--checkpoint", str(tmp_path / "notes")])
    assert result.returncode == 1 and "not a checkpoint" in one_sentence(result.stderr)
    assert os.listdir(tmp_path) == ["notes"] and (tmp_path / "notes").read_text() == "somebody's"
    # The lock can be made, but its holder can't be written into it.
    result = run(["prlimit", "--fsize=0"] + command)
    assert result.returncode == 1 and "too large" in one_sentence(result.stderr)
    assert os.listdir(tmp_path) == ["notes"]


def test_O5_no_secret_anywhere(strict_bucket, mounts):
    secret = os.environ["AWS_SECRET_ACCESS_KEY"]
    strict_bucket.put("f", b"x" * 100000)
    mount = mounts(strict_bucket.url, strict_bucket.endpoint, options=["--log-level", "debug"]).start()
    mount.read("f")
    with open("/proc/%d/cmdline" % mount.pid) as file:
        assert secret not in file.read()
    assert secret not in mount.log()
    for root, directories, files in os.walk(mount.cache):
        for name in directories:
            assert os.stat(os.path.join(root, name)).st_mode & 0o777 == 0o700, name
        for name in files:
            path = os.path.join(root, name)
            assert os.stat(path).st_mode & 0o777 == 0o600, path
            with open(path, "rb") as file:
                assert secret.encode() not in file.read()


def as_ordinary_user(directory, lines, **facts):
    """Runs lines of shell in a mount namespace of its own, with a /dev/fuse that anybody may open, as udev makes it."""
    home = directory / "home"
    home.mkdir()
    shutil.copy(DIPPER, home / "dipper")
    for path in [directory, *list(directory.parents)[:3]]:
        if path != path.parent:
            os.chmod(path, 0o755)
    shutil.chown(home, 65534, 65534)
    head = """
        set -eu
        mount --make-rprivate /
        mknod -m 666 %(home)s/fuse c 10 229
        mount --bind %(home)s/fuse /dev/fuse
        as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"
        cd %(home)s
    """
    script = (head + lines) % {"home": home, **facts}
    result = run(["unshare", "-m", "sh", "-c", script], environment={"HOME": str(home), "XDG_RUNTIME_DIR": None})
    assert result.returncode == 0, result
    return home, result.stdout


def test_an_ordinary_user_mounts(strict_bucket, tmp_path):
    strict_bucket.put("d/f", b"mine")
    home, output = as_ordinary_user(tmp_path, """
        $as_user mkdir mnt
        $as_user ./dipper mount %(url)s mnt --endpoint %(endpoint)s
        $as_user cat mnt/d/f && echo
        if ls mnt 2>/dev/null; then echo "root looks into it"; fi
        $as_user ./dipper status --json
        $as_user ./dipper unmount mnt
        grep -q %(home)s/mnt /proc/self/mounts && echo "still mounted" || echo "unmounted"
    """, url=strict_bucket.url, endpoint=strict_bucket.endpoint)
    lines = output.splitlines()
    assert lines[0] == "mine" and lines[-1] == "unmounted", output
    assert "root looks into it" not in output and str(home / "mnt") in output


@pytest.mark.parametrize("mountpoint, cache, culprit", [
    ("theirs", "cache", "theirs"), ("mnt", "theirs/cache", "theirs/cache"), ("mnt", "theirs", "theirs")])
def test_what_is_somebody_elses_is_not_used(strict_bucket, tmp_path, mountpoint, cache, culprit):
    home, output = as_ordinary_user(tmp_path, """
        mkdir -m 755 theirs
        $as_user mkdir mnt
        code=0
        $as_user ./dipper mount %(url)s %(mountpoint)s --cache-dir %(cache)s --endpoint %(endpoint)s 2>sentence || code=$?
        cat sentence
        echo $code
        if grep %(home)s /proc/self/mounts | grep -v /dev/fuse; then echo "something is mounted"; fi
    """, url=strict_bucket.url, endpoint=strict_bucket.endpoint, mountpoint=mountpoint, cache=cache)
    sentence, code = output.rstrip("\n").rsplit("\n", 1)
    assert code == "1" and str(home / culprit) in one_sentence(sentence), output
    assert os.listdir(home / "theirs") == []
    assert not (home / "cache").exists()


@pytest.mark.parametrize("closed", ["<&-", "<&- >&-", "<&- >&- 2>&-", "2>&-"])
def test_O1_a_mount_starts_although_standard_descriptors_are_closed(strict_bucket, mounts, closed):
    strict_bucket.put("f", b"text")
    mount = mounts(strict_bucket.url, strict_bucket.endpoint)
    os.makedirs(mount.path)
    assert run(["sh", "-c", 'exec "$@" ' + closed, "sh"] + mount.command()).returncode == 0
    assert mount.read("f") == b"text"


def test_get_works_although_standard_descriptors_are_closed(strict_bucket, tmp_path):
    data = b"0123456789" * 100_000
    strict_bucket.put("f", data)
    target = tmp_path / "target"
    command = [DIPPER, "get", "--endpoint", strict_bucket.endpoint, "--log-level", "debug", "--progress", "--json",
               strict_bucket.url + "/f", str(target)]
    assert run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh"] + command).returncode == 0
    assert target.read_bytes() == data


def test_O1_a_pipe_in_place_of_the_credentials_is_not_waited_for(strict_bucket, mounts, tmp_path):
    os.mkfifo(tmp_path / "credentials")
    nothing = {name: None for name in os.environ if name.startswith("AWS_")}
    environment = nothing | {"AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"), "HOME": str(tmp_path)}
    refused(mounts(strict_bucket.url, strict_bucket.endpoint, environment=environment), "credentials", "a pipe")


@pytest.mark.parametrize("words", [["get", "URL/k", "URL/b"], ["put", "URL/k", "URL/b"],
                                   ["mount", "URL", "URL/k"], ["unmount", "URL"], ["status", "URL"],
                                   ["warm", "URL"], ["evict", "URL/k"], ["map", "URL/k"]])
def test_a_url_where_a_path_belongs(strict_bucket, words):
    strict_bucket.put("k", b"x")
    words = [word.replace("URL", strict_bucket.url) for word in words]
    result = run([DIPPER, *words] + (["--endpoint", strict_bucket.endpoint] if words[0] in ("get", "put") else []))
    assert result.returncode == 2, result
    assert "is a bucket's URL" in one_sentence(result.stderr)


def test_a_key_that_ends_in_no_files_name(strict_bucket):
    result = run([DIPPER, "get", strict_bucket.url + "/d/", "--endpoint", strict_bucket.endpoint])
    assert result.returncode == 2
    assert strict_bucket.url + "/d/ doesn't end in what can be a file's name" in one_sentence(result.stderr)


@pytest.mark.parametrize("command", ["get", "cp"])
def test_a_version_of_a_store_that_keeps_none(strict_bucket, tmp_path, command):
    strict_bucket.put("k", b"x")
    target = str(tmp_path / "f") if command == "get" else strict_bucket.url + "/copy"
    result = run([DIPPER, command, strict_bucket.url + "/k", target, "--version-id", "an-id",
                  "--endpoint", strict_bucket.endpoint])
    assert result.returncode == 1 and "the bucket keeps none" in one_sentence(result.stderr)
    assert os.listdir(tmp_path) == [] and strict_bucket.s3.list_objects_v2(Bucket=strict_bucket.name)["KeyCount"] == 1
