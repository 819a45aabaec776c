"""Names and labels as an API server checks them: what it refuses is refused here, too."""

import re
from collections.abc import Mapping
from typing import Final

from gang_scheduler.api.kinds import GVR, JOBS, NAMESPACES, POD_GROUPS, SCHED_PLUGINS_POD_GROUPS
from gang_scheduler.api.parsing import InvalidField

_LABEL: Final = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
DNS_LABEL: Final = re.compile(_LABEL)
DNS_SUBDOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
QUALIFIED: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
"""What is a value of a label, or the part of a key after the slash."""
LONGEST_LABEL, LONGEST_SUBDOMAIN = 63, 253

SHORT_NAMES: Final = frozenset({JOBS})
"""Kinds whose names are values of labels."""
GANGS: Final = frozenset({POD_GROUPS, SCHED_PLUGINS_POD_GROUPS})
"""Kinds whose names may have capitals here: published examples have them, and gangs named by an
annotation or a label, for which there is no object, may have them on a cluster, too."""


def group_of(api_version: str) -> str:
    """Return the API group of an apiVersion."""
    return api_version.rpartition("/")[0]


def check(gvr: GVR, metadata: Mapping[str, str]) -> None:
    """Raise InvalidField for a name or a namespace that an API server refuses."""
    name, namespace = metadata["name"], metadata["namespace"]
    if gvr == NAMESPACES:
        _check_label("metadata.name", name)
    else:
        longest = LONGEST_LABEL if gvr in SHORT_NAMES else LONGEST_SUBDOMAIN
        _check_subdomain("metadata.name", name.lower() if gvr in GANGS else name, longest)
    if namespace:
        _check_label("metadata.namespace", namespace)


def why_refused(gvr: GVR, name: str) -> str:
    """Return why an API server refuses a name that is read here, "" if it does not."""
    capitals = gvr in GANGS and name != name.lower()
    return "an API server refuses names with capital letters" if capitals else ""


def check_labels(
    labels: Mapping[str, str], annotations: Mapping[str, str], where: str = "metadata"
) -> None:
    """Raise InvalidField for a key, or a value of a label, that an API server refuses."""
    for key, value in labels.items():
        _check_key(f"{where}.labels", key)
        if value and not _is(QUALIFIED, value, LONGEST_LABEL):
            must = (
                f"must have at most {LONGEST_LABEL} letters, digits, -, _ and ., and begin and end "
                "with a letter or digit"
            )
            raise InvalidField(f"{where}.labels.{key}", value, must)
    for key in annotations:
        _check_key(f"{where}.annotations", key.lower())


def _check_key(where: str, key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    fits = not slash or _is(DNS_SUBDOMAIN, prefix, LONGEST_SUBDOMAIN)
    if not fits or not _is(QUALIFIED, name, LONGEST_LABEL):
        raise InvalidField(where, key, "must have keys such as name or example.com/name")


def is_label(name: str) -> bool:
    """Return whether a name is a DNS-1123 label, as those of namespaces and containers are."""
    return _is(DNS_LABEL, name, LONGEST_LABEL)


def _check_label(where: str, name: str) -> None:
    if not is_label(name):
        must = f"must be a DNS-1123 label: a-z, 0-9 and -, at most {LONGEST_LABEL} characters"
        raise InvalidField(where, name, must)


def _check_subdomain(where: str, name: str, longest: int) -> None:
    if not _is(DNS_SUBDOMAIN, name, longest):
        must = f"must be a DNS-1123 subdomain: a-z, 0-9, - and ., at most {longest} characters"
        raise InvalidField(where, name, must)


def _is(pattern: re.Pattern[str], text: str, longest: int) -> bool:
    return len(text) <= longest and pattern.fullmatch(text) is not None
