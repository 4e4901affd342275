"""What resumable copies and uploads rest on."""

import json

from .probes import Finding, probe
from .service import quote

PART = 5 << 20
OTHER = '"%s"' % ("0" * 32)


def source_of(place, name):
    return {"x-tos-copy-source": "/%s/%s" % (place.service.bucket, quote(place.key(name), "/"))}


def complete(place, name, upload, tags):
    body = json.dumps({"Parts": [{"PartNumber": number, "ETag": tag} for number, tag in tags.items()]}).encode()
    return place.ask("POST", name, {"uploadId": upload}, body=body)


@probe("ranges are copied; another version of the source is 412; ListParts tells number, size and ETag of each")
def copying_parts(place):
    """How are parts copied on the server, and listed?"""
    tag = place.put("p/source", b"a" * PART + b"the end").headers["etag"]
    source = source_of(place, "p/source")
    upload = place.upload("p/copied")
    wanted = {1: "bytes=0-%d" % (PART - 1), 2: "bytes=%d-%d" % (PART, PART + 6)}
    answers = {number: place.ask("PUT", "p/copied", {"partNumber": str(number), "uploadId": upload}, {
        **source, "x-tos-copy-source-range": span, "x-tos-copy-source-if-match": tag}) for number, span in wanted.items()}
    other = place.ask("PUT", "p/copied", {"partNumber": "3", "uploadId": upload}, {
        **source, "x-tos-copy-source-range": wanted[2], "x-tos-copy-source-if-match": OTHER})
    listed = {part.get("PartNumber"): (part.get("Size"), part.get("ETag")) for part in
              place.ask("GET", "p/copied", {"uploadId": upload}).document.get("Parts") or []}
    tags = {number: answer.document.get("ETag", "") for number, answer in answers.items()}
    done = complete(place, "p/copied", upload, tags)
    whole = place.ask("GET", "p/copied").body == b"a" * PART + b"the end"
    agrees = (other.status == 412 and listed == {1: (PART, tags[1]), 2: (7, tags[2])} and done.is_success and whole)
    return Finding(agrees, "parts: %s, %s; other version: %s; listed: %s; complete: %s, %s" % (
        answers[1], answers[2], other, json.dumps(listed), done, "whole" if whole else "NOT WHOLE"))


@probe("a whole copy takes over what describes the source, or what replaces it; a copy in parts only what began it")
def copying_metadata(place):
    """What goes along with a copy?"""
    place.put("m/source", b"1", x_tos_meta_one="1", content_type="text/x-probe")
    source = source_of(place, "m/source")
    seen = {}
    for name, headers in (("whole", {}), ("replaced", {"x-tos-metadata-directive": "REPLACE", "x-tos-meta-two": "2"})):
        place.ask("PUT", "m/" + name, headers={**source, **headers})
    upload = place.upload("m/parts")
    tag = place.ask("PUT", "m/parts", {"partNumber": "1", "uploadId": upload}, {
        **source, "x-tos-copy-source-range": "bytes=0-0"}).document.get("ETag", "")
    complete(place, "m/parts", upload, {1: tag})
    for name in ("whole", "replaced", "parts"):
        head = place.ask("HEAD", "m/" + name).headers
        seen[name] = tuple(head.get(field) for field in ("x-tos-meta-one", "x-tos-meta-two"))
    agrees = seen == {"whole": ("1", None), "replaced": (None, "2"), "parts": (None, None)}
    return Finding(agrees, "; ".join("%s: one=%s two=%s" % (name, *found) for name, found in seen.items()))


@probe("204, then 404 NoSuchUpload to everything that names it")
def giving_up(place):
    """Is an upload gone when it was given up?"""
    upload = place.upload("g/given-up")
    place.ask("PUT", "g/given-up", {"partNumber": "1", "uploadId": upload}, body=b"x")
    first = place.ask("DELETE", "g/given-up", {"uploadId": upload})
    again = [place.ask("DELETE", "g/given-up", {"uploadId": upload}), place.ask("GET", "g/given-up", {"uploadId": upload}),
             place.ask("PUT", "g/given-up", {"partNumber": "2", "uploadId": upload}, body=b"x")]
    agrees = first.status == 204 and all((one.status, one.code) == (404, "NoSuchUpload") for one in again)
    return Finding(agrees, "%s; then delete, list, send: %s" % (first, ", ".join(map(str, again))))
