"""Who is let in, and where."""

from .probes import Finding, NotTried, probe
from .service import Keys, Service

LISTING = {"list-type": "2", "max-keys": "1"}


@probe("14 minutes are let in, 16 are refused with RequestTimeTooSkewed")
def clock(place):
    """How far may a client's clock be off?"""
    answers = {minutes: place.service.ask("GET", "", LISTING, offset=minutes * 60) for minutes in (-16, -14, 14, 16)}
    agrees = all(
        answer.is_success if abs(minutes) == 14 else (answer.status, answer.code) == (403, "RequestTimeTooSkewed")
        for minutes, answer in answers.items())
    return Finding(agrees, "; ".join("%+d min: %s" % pair for pair in answers.items()))


@probe("every answer has Date and x-tos-request-id, also a refusal of HEAD")
def answers_say_when_and_which(place):
    """Does every answer have the time and an id?"""
    answers = [place.ask("HEAD", "none"), place.service.ask("GET", "", LISTING), place.ask("GET", "none")]
    lacking = [name for name in ("date", "x-tos-request-id") if any(name not in a.headers for a in answers)]
    return Finding(not lacking, "lacking: %s" % ", ".join(lacking) if lacking else "they have")


@probe("403 SignatureDoesNotMatch with a body, 403 and an x-tos-ec to HEAD")
def wrong_secret(place):
    """How is a wrong secret refused?"""
    keys = Keys(place.service.keys.access_key, "wrong", place.service.keys.token)
    got = place.service.ask("GET", "", LISTING, keys=keys)
    head = place.service.ask("HEAD", "", keys=keys)
    agrees = (got.status, got.code, head.status) == (403, "SignatureDoesNotMatch", 403) and "x-tos-ec" in head.headers
    return Finding(agrees, "GET: %s; HEAD: %s" % (got, head))


@probe("a refusal; the answer may name the right region in x-tos-bucket-region")
def wrong_region(place):
    """How is a signature for another region refused?"""
    answer = place.service.ask("GET", "", LISTING, region="xx-nowhere-1")
    named = answer.headers.get("x-tos-bucket-region", "")
    return Finding(400 <= answer.status < 404, "%s%s" % (answer, ", names " + named if named else ""))


@probe("403 InvalidPathAccess")
def bucket_in_the_path(place):
    """Is a bucket in the path refused?"""
    if place.service.has_path_style:
        raise NotTried("the endpoint is a stand-in with the bucket in the path")
    answer = place.service.ask("GET", "", LISTING, path_style=True)
    return Finding((answer.status, answer.code) == (403, "InvalidPathAccess"), str(answer))


@probe("301 or 307, with the right endpoint in Location or the region in x-tos-bucket-region")
def other_endpoint(place):
    """What does the endpoint of another region answer?"""
    service = place.service
    if not service.host.startswith("tos-%s." % service.region):
        raise NotTried("the endpoint isn't TOS's own")
    region = "cn-shanghai" if service.region != "cn-shanghai" else "cn-beijing"
    host = service.host.replace(service.region, region, 1)
    answer = Service(service.scheme, host, region, service.bucket, service.keys).ask("GET", "", LISTING)
    named = [answer.headers.get(name, "") for name in ("location", "x-tos-bucket-region")]
    return Finding(answer.status in (301, 307) and any(named), "%s %s" % (answer, " ".join(filter(None, named))))


@probe("x-tos-bucket-type is hns for a hierarchical bucket, else fns or absent; x-tos-bucket-region is there")
def bucket_type(place):
    """What does HeadBucket say of the bucket?"""
    answer = place.service.ask("HEAD", "")
    found = {name: value for name, value in answer.headers.items() if "bucket" in name or "storage-class" in name}
    agrees = (answer.is_success and answer.headers.get("x-tos-bucket-type", "fns") in ("fns", "hns")
              and "x-tos-bucket-region" in answer.headers)
    return Finding(agrees, "%s %s" % (answer, ", ".join("%s: %s" % pair for pair in sorted(found.items()))))
