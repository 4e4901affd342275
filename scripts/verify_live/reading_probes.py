"""Reads, listings, copies, uploads, names that change."""

import base64
import hashlib
import json
from urllib.parse import unquote_plus

from .probes import Finding, NotTried, probe
from .service import quote

PART = 5 << 20


@probe("416 for any range of an empty object; a range beyond the end is cut; 412 under another version")
def ranges(place):
    """How are odd ranges answered?"""
    place.put("empty", b"")
    place.put("ten", b"0123456789")
    empty = place.ask("GET", "empty", headers={"range": "bytes=0-0"})
    cut = place.ask("GET", "ten", headers={"range": "bytes=8-99"})
    behind = place.ask("GET", "ten", headers={"range": "bytes=10-"})
    other = place.ask("GET", "ten", headers={"range": "bytes=0-1", "if-match": '"%s"' % ("0" * 32)})
    agrees = (empty.status == behind.status == 416 and other.status == 412 and cut.status == 206
              and (cut.body, cut.headers.get("content-range")) == (b"89", "bytes 8-9/10"))
    return Finding(agrees, "empty: %s; beyond: %s %s; behind: %s; other version: %s" % (
        empty, cut, cut.headers.get("content-range"), behind, other))


@probe("it is that of the whole object")
def checksum_of_a_range(place):
    """Whose CRC-64 does a ranged answer have?"""
    whole = place.put("crc", b"123456789").headers.get("x-tos-hash-crc64ecma")
    part = place.ask("GET", "crc", headers={"range": "bytes=0-3"}).headers.get("x-tos-hash-crc64ecma")
    return Finding(whole == part == "11051210869376104954", "whole: %s, range: %s" % (whole, part))


@probe("the order of their bytes in a flat bucket")
def order_of_listings(place):
    """In which order are keys listed?"""
    names = ["o/a", "o/a b", "o/a-b", "o/a/b", "o/a0", "o/\u00e9", "o/B"]
    for name in names:
        if not (place.is_tree and name == "o/a"):
            place.put(name, b"x")
    listed = [key for key in place.keys() if key.startswith(place.key("o/")) and not key.endswith("/")]
    return Finding(listed == sorted(listed, key=str.encode) or place.is_tree,
                   " ".join(json.dumps(key[len(place.prefix):]) for key in listed))


@probe("a blank is + or %20; a form's decoding gives the key back")
def keys_in_url_encoding(place):
    """How does encoding-type=url spell keys?"""
    place.put("u/a b+c%d/e", b"x")
    page = place.service.ask("GET", "", {"list-type": "2", "prefix": place.key("u/"), "encoding-type": "url"})
    found = [entry["Key"] for entry in page.document.get("Contents") or [] if entry["Key"].endswith("e")]
    shown = json.dumps(found)
    return Finding([unquote_plus(key) for key in found] == [place.key("u/a b+c%d/e")], shown)


@probe("an object's own key; the first key below for a directory; 404 for neither")
def file_status(place):
    """What does GetFileStatus say?"""
    place.put("s/dir/file", b"x")
    if place.is_tree:
        answer = place.ask("GET", "s/dir", {"stat": ""})
        return Finding(True, "hierarchical bucket: %s" % answer)
    file, directory, none = (place.ask("GET", name, {"stat": ""}) for name in ("s/dir/file", "s/dir", "s/none"))
    agrees = (file.document.get("Key") == place.key("s/dir/file") and none.status == 404
              and directory.document.get("Key", "").startswith(place.key("s/dir/")))
    return Finding(agrees, "file: %s %s; directory: %s %s; none: %s" % (
        file, file.document.get("Key"), directory, directory.document.get("Key"), none))


@probe("a condition that doesn't hold is 412; white space may come before the document; the key is decoded")
def copying(place):
    """How is a copy answered?"""
    tag = place.put("c/a b+c%d", b"copied").headers["etag"]
    source = {"x-tos-copy-source": "/%s/%s" % (place.service.bucket, quote(place.key("c/a b+c%d"), "/"))}
    good = place.ask("PUT", "c/target", headers={**source, "x-tos-copy-source-if-match": tag})
    bad = place.ask("PUT", "c/target", headers={**source, "x-tos-copy-source-if-match": '"%s"' % ("0" * 32)})
    blank = len(good.body) - len(good.body.lstrip())
    agrees = bool(good.is_success and good.document.get("ETag")) and bad.status == 412
    return Finding(agrees, "%s, %d blanks before the document; other version: %s" % (good, blank, bad))


@probe("not relied upon: some documents say they can't be")
def copying_appendable(place):
    """Can an appendable object be copied?"""
    made = place.ask("POST", "append", {"append": "", "offset": "0"}, body=b"x" * (128 << 10))
    if not made.is_success:
        raise NotTried("the bucket has no appendable objects: %s" % made)
    source = {"x-tos-copy-source": "/%s/%s" % (place.service.bucket, quote(place.key("append"), "/"))}
    return Finding(True, str(place.ask("PUT", "appended", headers=source)))


@probe("gaps are allowed; completing again is 404 NoSuchUpload; DuplicateObject where it must not replace")
def parts(place):
    """May part numbers have gaps, and what does completing twice say?"""
    upload = place.upload("parts")
    sent = [(1, b"x" * PART), (3, b"last")]
    tags = {number: place.ask("PUT", "parts", {"partNumber": str(number), "uploadId": upload}, body=body)
            .headers.get("etag", "") for number, body in sent}
    body = json.dumps({"Parts": [{"PartNumber": number, "ETag": tag} for number, tag in tags.items()]}).encode()
    first, second = (place.ask("POST", "parts", {"uploadId": upload}, body=body) for _ in range(2))
    other = place.upload("parts")
    tag = place.ask("PUT", "parts", {"partNumber": "1", "uploadId": other}, body=b"new").headers.get("etag", "")
    guarded = place.ask("POST", "parts", {"uploadId": other}, {"x-tos-forbid-overwrite": "true"},
                        json.dumps({"Parts": [{"PartNumber": 1, "ETag": tag}]}).encode())
    agrees = (first.is_success and not first.code and (second.status, second.code) == (404, "NoSuchUpload")
              and guarded.status in (409, 412))
    return Finding(agrees, "parts 1 and 3: %s; again: %s; must not replace: %s" % (first, second, guarded))


@probe("400 EntityTooSmall when it is completed")
def small_parts(place):
    """When is a part refused that is too small?"""
    upload = place.upload("small")
    answers = [place.ask("PUT", "small", {"partNumber": str(number), "uploadId": upload}, body=b"x")
               for number in (1, 2)]
    body = json.dumps({"Parts": [{"PartNumber": number, "ETag": answer.headers.get("etag", "")}
                                 for number, answer in enumerate(answers, 1)]}).encode()
    done = place.ask("POST", "small", {"uploadId": upload}, body=body)
    return Finding((done.status, done.code) == (400, "EntityTooSmall"), "parts: %s, %s; complete: %s" % (*answers, done))


@probe("204 where the bucket may rename; else a refusal with 400, 403 or 405 and nothing moved")
def renaming(place):
    """What does RenameObject answer?"""
    place.put("r/old", b"x")
    asked = place.service.ask("GET", "", {"rename": ""})
    answer = place.ask("PUT", "r/old", {"rename": "", "name": place.key("r/new")})
    moved = place.ask("HEAD", "r/new").is_success and place.ask("HEAD", "r/old").status == 404
    return Finding(moved if answer.is_success else answer.status in (400, 403, 405) and not moved,
                   "%s, %s; the bucket's setting: %s %s" % (
                       answer, "moved" if moved else "not moved", asked, asked.document.get("RenameEnable", "")))


@probe("204 for what isn't there; Error, not Errors, for what can't be removed")
def deleting(place):
    """How is a missing object deleted?"""
    single = place.ask("DELETE", "none")
    body = json.dumps({"Objects": [{"Key": place.key("none")}, {"Key": place.key("none2")}], "Quiet": False}).encode()
    md5 = base64.b64encode(hashlib.md5(body).digest()).decode()
    batch = place.service.ask("POST", "", {"delete": ""}, {"content-md5": md5}, body)
    return Finding(single.status == 204 and batch.is_success and len(batch.document.get("Deleted") or []) == 2,
                   "one: %s; batch: %s with %s" % (single, batch, ", ".join(sorted(batch.document)) or "nothing"))
