"""What scripts/verify-live does with its probes."""

import argparse
import ipaddress
import json
import os
import signal
import sys

from . import access_probes, dialect_probes, machine_probes, reading_probes, transfer_probes  # noqa: F401
from . import writing_probes  # noqa: F401
from .bucket import Workplace
from .probes import PROBES, NotTried
from .service import Keys, Service, Unreachable


# Seconds that an interruption waits for the answer to the request that is under way.
PATIENCE = 10


class Unusable(Exception):
    """What is missing before anything can be asked."""


def main(arguments, description):
    parser = argparse.ArgumentParser("verify-live", description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="JSON instead of text")
    parser.add_argument("--archive", action="store_true", help="also what costs: an archived object")
    parser.add_argument("--list", action="store_true", help="name the probes and what they ask; ask nothing")
    parser.add_argument("names", nargs="*", metavar="PROBE", help="only these")
    options = parser.parse_args(arguments)
    chosen = [probe for probe in PROBES if not options.names or probe.name in options.names]
    unknown = sorted(set(options.names) - {probe.name for probe in PROBES})
    if unknown:
        print("verify-live: there is no probe %s; --list names them" % ", ".join(unknown), file=sys.stderr)
        return 2
    if options.list:
        for probe in chosen:
            print("%-28s %s" % (probe.name, probe.question))
        return 0
    try:
        place = Workplace(service(os.environ))
        check(place)
    except (Unusable, Unreachable) as reason:
        print("verify-live: %s" % reason, file=sys.stderr)
        return 2
    place.may_archive = options.archive
    return examine(place, chosen, options.json)


def service(environment):
    """The bucket that the environment names."""
    access_key, secret_key = environment.get("TOS_ACCESS_KEY"), environment.get("TOS_SECRET_KEY")
    bucket = environment.get("DIPPER_VERIFY_BUCKET", "").removeprefix("tos://").strip("/")
    if not (access_key and secret_key and bucket):
        raise Unusable("set TOS_ACCESS_KEY, TOS_SECRET_KEY and DIPPER_VERIFY_BUCKET=tos://BUCKET, and TOS_REGION or "
                       "TOS_ENDPOINT, to ask a live bucket; nothing was asked")
    endpoint, region = environment.get("TOS_ENDPOINT", ""), environment.get("TOS_REGION", "")
    if not endpoint and not region:
        raise Unusable("set TOS_REGION (such as cn-beijing) or TOS_ENDPOINT; nothing was asked")
    scheme, _, host = (endpoint if "://" in endpoint else "https://" + endpoint).partition("://")
    host = host.strip("/") or "tos-%s.volces.com" % region
    if not region and host.startswith("tos-"):
        region = host.removeprefix("tos-").split(".")[0]
    keys = Keys(access_key, secret_key, environment.get("TOS_SECURITY_TOKEN", ""))
    return Service(scheme, host, region or "cn-beijing", bucket, keys, has_path_style=is_stand_in(host))


def is_stand_in(host):
    name = host.rsplit(":", 1)[0]
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost"
    return True


def check(place):
    """Finds out whether the bucket can be used, before anything is written."""
    head = place.service.ask("HEAD", "")
    if not head.is_success:
        listing = place.service.ask("GET", "", {"list-type": "2", "max-keys": "1"})
        raise Unusable("the bucket %s can't be used: %s; nothing was written" % (place.service.bucket, listing))
    place.is_tree = head.headers.get("x-tos-bucket-type") == "hns"
    versions = place.service.ask("GET", "", {"versioning": ""}).document.get("Status")
    if versions == "Enabled":
        raise Unusable("the bucket %s keeps versions, so that nothing could be removed for good; take another one; "
                       "nothing was written" % place.service.bucket)


def examine(place, chosen, as_json):
    """Runs the probes, removes what they left, and gives the exit code."""
    results, code = [], 0
    try:
        on_signal(lambda *_: interrupt(place))
        for probe in chosen:
            verdict, observed = run(probe, place)
            results.append({"probe": probe.name, "question": probe.question, "expected": probe.expected,
                            "verdict": verdict, "observed": observed})
            if not as_json:
                show(results[-1])
            if verdict in ("differs", "failed"):
                code = 1
        on_signal(signal.SIG_IGN)
    except KeyboardInterrupt:
        signal.alarm(0)
        print("verify-live: interrupted; what was written is removed", file=sys.stderr)
        code = 130
    finally:
        left = clear(place)
    if left:
        print("verify-live: this could not be removed from %s: %s" % (place.service.bucket, ", ".join(left)),
              file=sys.stderr)
        code = code or 1
    if as_json:
        print(json.dumps({"version": 1, "bucket": "tos://" + place.service.bucket, "probes": results, "left": left},
                         indent=1))
    return code


def on_signal(handler):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def interrupt(place):
    """Ends the probes; whatever else is sent while what they wrote is removed changes nothing."""
    on_signal(signal.SIG_IGN)
    signal.signal(signal.SIGALRM, cut)
    signal.alarm(PATIENCE)
    place.service.interrupt()


def cut(*_):
    raise KeyboardInterrupt


def run(probe, place):
    try:
        finding = probe.run(place)
        return ("as expected" if finding.agrees else "differs"), finding.observed
    except NotTried as reason:
        return "not tried", str(reason)
    except (Unreachable, RuntimeError, OSError, KeyError) as failure:
        return "failed", "%s: %s" % (type(failure).__name__, failure)


def clear(place):
    try:
        return place.clear()
    except (Unreachable, RuntimeError) as failure:
        return ["%s* (%s)" % (place.prefix, failure)]


def show(result):
    print("%-12s %s\n             %s\n             expected: %s\n             observed: %s" % (
        result["verdict"], result["probe"], result["question"], result["expected"], result["observed"]), flush=True)
