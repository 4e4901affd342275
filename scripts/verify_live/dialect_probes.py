"""What Dipper's way of speaking TOS rests on, beyond reads and plain writes."""

import json

from .probes import Finding, NotTried, probe

OTHER = '"%s"' % ("0" * 32)


@probe("a refusal, or ignored: Dipper asks for it nowhere")
def completing_one_version(place):
    """Does CompleteMultipartUpload mind x-tos-if-match, or If-Match?"""
    seen = {}
    for header in ("x-tos-if-match", "if-match"):
        place.put("complete", b"old")
        upload = place.upload("complete")
        tag = place.ask("PUT", "complete", {"partNumber": "1", "uploadId": upload}, body=b"new").headers.get("etag", "")
        body = json.dumps({"Parts": [{"PartNumber": 1, "ETag": tag}]}).encode()
        answer = place.ask("POST", "complete", {"uploadId": upload}, {header: OTHER}, body)
        seen[header] = "%s, %s" % (answer, "kept" if place.ask("GET", "complete").body == b"old" else "replaced")
    return Finding(True, "; ".join("%s: %s" % pair for pair in seen.items()))


@probe("a refusal, or ignored: Dipper asks for it nowhere")
def deleting_one_version(place):
    """Does DeleteObject mind If-Match?"""
    place.put("delete", b"1")
    answer = place.ask("DELETE", "delete", headers={"if-match": OTHER})
    kept = place.ask("HEAD", "delete").is_success
    return Finding(True, "%s, the object is %s" % (answer, "kept" if kept else "gone"))


@probe("CRC-64 of the part's bytes and of the whole object, in x-tos-hash-crc64ecma")
def checksums_of_writes(place):
    """Which answers to writes have a checksum?"""
    put = place.put("sum", b"123456789").headers.get("x-tos-hash-crc64ecma")
    upload = place.upload("sums")
    part = place.ask("PUT", "sums", {"partNumber": "1", "uploadId": upload}, body=b"123456789")
    body = json.dumps({"Parts": [{"PartNumber": 1, "ETag": part.headers.get("etag", "")}]}).encode()
    complete = place.ask("POST", "sums", {"uploadId": upload}, body=body)
    source = {"x-tos-copy-source": "/%s/%s" % (place.service.bucket, place.key("sum"))}
    copy = place.ask("PUT", "sum2", headers=source)
    seen = [put] + [answer.headers.get("x-tos-hash-crc64ecma") for answer in (part, complete, copy)]
    head = place.ask("HEAD", "sum2").headers.get("x-tos-hash-crc64ecma")
    known = "11051210869376104954"
    return Finding(seen[:3] == [known] * 3 and head == known,
                   "put %s, part %s, complete %s, copy %s; HEAD of the copy %s" % (*seen, head))


@probe("HEAD has the size of what it leads to in x-tos-symlink-target-size; a listing's Type is Symlink")
def links(place):
    """How large is a link?"""
    place.put("l/target", b"12345")
    made = place.ask("PUT", "l/link", {"symlink": ""}, {"x-tos-symlink-target": place.key("l/target")})
    if not made.is_success:
        raise NotTried("the bucket has no links: %s" % made)
    head = place.ask("HEAD", "l/link")
    page = place.service.ask("GET", "", {"list-type": "2", "prefix": place.key("l/link")})
    entry = next(iter(page.document.get("Contents") or []), {})
    sizes = (head.headers.get("content-length"), head.headers.get("x-tos-symlink-target-size"), entry.get("Size"))
    return Finding("5" in sizes[:2] and entry.get("Type") == "Symlink",
                   "HEAD: length %s, target %s; listing: %s, size %s" % (*sizes[:2], entry.get("Type"), sizes[2]))


@probe("HEAD finds it with x-tos-directory, with and without a slash; whether a listing shows it doesn't matter")
def an_empty_directory(place):
    """How does an empty directory show in a hierarchical bucket?"""
    if not place.is_tree:
        raise NotTried("the bucket is flat")
    place.put("e/", b"")
    heads = [place.ask("HEAD", name) for name in ("e", "e/")]
    page = place.service.ask("GET", "", {"list-type": "2", "prefix": place.key("e/"), "delimiter": "/"})
    agrees = all(head.is_success and head.headers.get("x-tos-directory") == "true" for head in heads)
    return Finding(agrees, "HEAD: %s, %s; its own listing shows %d entries" % (
        *heads, len(page.document.get("Contents") or [])))


@probe("204 and all is gone, or 409 CannotDelete and all is there")
def deleting_a_tree(place):
    """Does recursive=true remove a directory that isn't empty?"""
    if not place.is_tree:
        raise NotTried("the bucket is flat")
    place.put("tree/a/b", b"1")
    answer = place.ask("DELETE", "tree/", {"recursive": "true"})
    gone = place.ask("HEAD", "tree/a/b").status == 404
    return Finding(gone if answer.is_success else answer.status == 409 and not gone,
                   "%s, %s" % (answer, "gone" if gone else "still there"))


@probe("204 with a slash at both ends, and what is in it moves along")
def renaming_a_directory(place):
    """Is a directory renamed as a whole?"""
    if not place.is_tree:
        raise NotTried("the bucket is flat")
    place.put("from/a/b", b"1")
    answer = place.ask("PUT", "from/", {"rename": "", "name": place.key("to/new/")},
                       {"x-tos-recursive-mkdir": "true", "x-tos-forbid-overwrite": "true"})
    moved = place.ask("HEAD", "to/new/a/b").is_success and place.ask("HEAD", "from/a/b").status == 404
    return Finding(answer.is_success and moved, "%s, %s" % (answer, "moved" if moved else "not moved"))
