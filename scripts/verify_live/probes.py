"""The register of probes."""

from dataclasses import dataclass

PROBES = []


class NotTried(Exception):
    """The probe makes no sense here; why."""


@dataclass
class Finding:
    # True if it is as Dipper takes it to be; None if only its author's curiosity depends on it.
    agrees: bool
    observed: str


@dataclass
class Probe:
    name: str
    question: str
    # What Dipper takes for granted.
    expected: str
    run: object


def probe(expected):
    """Registers a function: its name is the probe's, its documentation the question."""

    def register(function):
        PROBES.append(Probe(function.__name__.replace("_", "-"), function.__doc__.strip(), expected, function))
        return function

    return register
