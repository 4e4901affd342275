"""Conditions, metadata and names."""

import base64
import hashlib

from .probes import Finding, NotTried, probe


@probe("409 or 412, DuplicateObject")
def create_what_is_there(place):
    """How is an exclusive create refused?"""
    place.put("twice", b"1")
    answer = place.ask("PUT", "twice", headers={"x-tos-forbid-overwrite": "true"}, body=b"2")
    kept = place.ask("GET", "twice").body == b"1"
    return Finding(answer.status in (409, 412) and answer.code == "DuplicateObject" and kept,
                   "%s; the object is %s" % (answer, "kept" if kept else "REPLACED"))


@probe("412 to another version, 200 to this one")
def replace_one_version(place):
    """Is x-tos-if-match honoured on PUT?"""
    tag = place.put("swap", b"1").headers["etag"]
    other = place.ask("PUT", "swap", headers={"x-tos-if-match": '"%s"' % ("0" * 32)}, body=b"2")
    same = place.ask("PUT", "swap", headers={"x-tos-if-match": tag}, body=b"3")
    return Finding(other.status == 412 and same.is_success, "other: %s; same: %s" % (other, same))


@probe("not relied upon: honoured or ignored")
def standard_conditions(place):
    """Are If-None-Match: * and If-Match honoured on PUT?"""
    place.put("standard", b"1")
    absent = place.ask("PUT", "standard", headers={"if-none-match": "*"}, body=b"2")
    place.put("standard", b"1")
    match = place.ask("PUT", "standard", headers={"if-match": '"%s"' % ("0" * 32)}, body=b"3")
    return Finding(True, "If-None-Match: %s; If-Match: %s" % (absent, match))


@probe("400 ContentSHA256Mismatch")
def wrong_hash(place):
    """How is a body refused that isn't what its hash says?"""
    headers = {"x-tos-content-sha256": hashlib.sha256(b"other").hexdigest()}
    answer = place.ask("PUT", "hash", headers=headers, body=b"body")
    return Finding((answer.status, answer.code) == (400, "ContentSHA256Mismatch"), str(answer))


@probe("2 KiB are taken")
def metadata_size(place):
    """How large may user metadata be?"""
    answers = {}
    for kibibytes in (1, 2, 4, 7, 9):
        # Less than the size by the name and a little more.
        value = "v" * (kibibytes * 1024 - 64)
        answers[kibibytes] = place.ask("PUT", "meta", headers={"x-tos-meta-probe": value}, body=b"")
    return Finding(answers[1].is_success and answers[2].is_success,
                   "; ".join("%d KiB: %s" % pair for pair in answers.items()))


@probe("names with // and spaces are taken; the others may be refused")
def odd_names(place):
    """Which odd keys are taken?"""
    names = {"a//b": "a//b", "a b+%": "a b+%", "a/./b": "a/./b", "a/../b": "a/../b", "a\\b": "a\\b",
             "a\\x01b": "a\x01b", "1,024 bytes": "k" * (1024 - len(place.prefix)),
             "1,025 bytes": "k" * (1025 - len(place.prefix))}
    answers = {shown: place.ask("PUT", name, body=b"") for shown, name in names.items()}
    if place.is_tree:
        return Finding(answers["a b+%"].is_success, "; ".join("%s: %s" % pair for pair in answers.items()))
    return Finding(answers["a//b"].is_success and answers["a b+%"].is_success,
                   "; ".join("%s: %s" % pair for pair in answers.items()))


@probe("x-tos-modify-timestamp is honoured in a hierarchical bucket")
def modification_time(place):
    """Which header sets an object's time?"""
    seen = []
    for header in ("x-tos-modify-timestamp", "x-modify-timestamp"):
        place.put("time", b"1")
        answer = place.ask("POST", "time", {"time": ""}, {header: "1000000000", header + "-ns": "0"})
        modified = place.ask("HEAD", "time").headers.get("last-modified", "")
        seen.append((answer, "2001" in modified))
    shown = "; ".join("%s: %s, %s" % (header, answer, "set" if is_set else "not set") for header, (answer, is_set)
                      in zip(("x-tos-modify-timestamp", "x-modify-timestamp"), seen))
    return Finding(seen[0][1] or not place.is_tree, shown)


@probe("what isn't given stays, unless x-tos-metadata-directive: REPLACE is sent")
def metadata_in_place(place):
    """Does SetObjectMeta keep what it isn't given?"""
    seen = {}
    for directive in ("", "REPLACE"):
        place.put("set", b"1", x_tos_meta_one="1", x_tos_meta_two="2")
        headers = {"x-tos-meta-one": "3", **({"x-tos-metadata-directive": directive} if directive else {})}
        answer = place.ask("POST", "set", {"metadata": ""}, headers)
        head = place.ask("HEAD", "set").headers
        seen[directive or "none"] = (answer, head.get("x-tos-meta-one"), head.get("x-tos-meta-two"))
    agrees = seen["none"][1:] == ("3", "2") and seen["REPLACE"][1:] == ("3", None)
    return Finding(agrees, "; ".join("directive %s: %s, then one=%s two=%s" % (directive, *found)
                                     for directive, found in seen.items()))


@probe("409 RestoreAlreadyInProgress the second time")
def restoring_twice(place):
    """What is said of an object that is being restored already?"""
    if not place.may_archive:
        raise NotTried("it costs; --archive asks it")
    place.put("cold", b"1", x_tos_storage_class="COLD_ARCHIVE")
    body = b'{"Days":1,"RestoreJobParameters":{"Tier":"Standard"}}'
    answers = [place.ask("POST", "cold", {"restore": ""}, {"content-md5": md5(body)}, body) for _ in range(2)]
    return Finding(answers[0].status == 202 and (answers[1].status, answers[1].code)
                   == (409, "RestoreAlreadyInProgress"), "; ".join(map(str, answers)))


def md5(body):
    return base64.b64encode(hashlib.md5(body).digest()).decode()
