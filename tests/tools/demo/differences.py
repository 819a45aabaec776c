"""How things stand against what an example expects, in words."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gang_scheduler.demo.cluster import Cluster
from tools.demo import placements
from tools.demo.examples import Outcome, Waiting

POD_GROUPS = "apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/{}/podgroups"
EVENTS = "apis/events.k8s.io/v1/namespaces/{}/events"
POLL_SECONDS = 0.1

# A namespace, and what the names of its gangs begin with in an outcome.
Prefixes = Mapping[str, str]
Places = Mapping[str, Sequence[str]]
"""The nodes of the members that have one, by gang and in the order of their ranks."""
Labels = Mapping[str, Mapping[str, str]]
Group = Mapping[str, Any]


WITHOUT_EVENT = frozenset({"WaitingForTurn", "WaitingForMembers"})
"""Reasons of gangs in a line, or whose members are on their way: in the condition alone."""


def wait(
    where: Cluster, prefixes: Prefixes, outcome: Outcome, timeout_seconds: float = 30.0
) -> None:
    """Wait for an outcome; else raise TimeoutError that says what is otherwise."""
    deadline = time.monotonic() + timeout_seconds
    while missing := list(of_cluster(where, prefixes, outcome)):
        if time.monotonic() > deadline:
            raise TimeoutError(f"after {timeout_seconds:.0f} s: {'; '.join(missing)}")
        time.sleep(POLL_SECONDS)


def of_cluster(where: Cluster, prefixes: Prefixes, outcome: Outcome) -> Iterator[str]:
    """Yield what is not as it should be in a cluster."""
    places: dict[str, list[str]] = {}
    groups: dict[str, Group] = {}
    for namespace, prefix in prefixes.items():
        for pod in sorted(placements.pods(where, namespace), key=placements.rank_of):
            if node := pod["spec"].get("nodeName"):
                places.setdefault(prefix + placements.gang_of(pod), []).append(node)
        for group in placements.items(where, POD_GROUPS.format(namespace)):
            groups[prefix + group["metadata"]["name"]] = group
    yield from of_places(places, placements.labels_of_nodes(where), outcome)
    yield from _of_status(groups, outcome)
    yield from _of_waiting(where, groups, outcome)


def of_places(places: Places, labels: Labels, outcome: Outcome) -> Iterator[str]:
    """Yield which members are not where they should be, given the labels of all nodes."""
    for gang, count in outcome.bound.items():
        found = len(places.get(gang, ()))
        if found != count:
            yield f"{found} pods of {gang} have a node, not {count}"
    for gang, nodes in outcome.nodes.items():
        if tuple(places.get(gang, ())) != nodes:
            yield f"{gang} is on {places.get(gang, ())}, not on {nodes}"
    for gang, spans in outcome.spans.items():
        for key, count in spans.items():
            domains = {labels[node].get(key, node) for node in places.get(gang, ())}
            if len(domains) != count:
                yield f"{gang} is in {sorted(domains)}, which are not {count} of {key}"


def _of_status(groups: Mapping[str, Group], outcome: Outcome) -> Iterator[str]:
    for gang in outcome.bound.keys() & groups.keys():
        shown = {key: groups[gang].get("status", {}).get(key) for key in ("scheduled", "running")}
        if set(shown.values()) != {outcome.bound[gang]}:
            yield f"the status of {gang} says {shown}"
    for gang, domain in outcome.domain.items():
        found = groups.get(gang, {}).get("status", {}).get("domain")
        if found != domain:
            yield f"the status of {gang} says that it is in {found}, not in {domain}"


def _of_waiting(where: Cluster, groups: Mapping[str, Group], outcome: Outcome) -> Iterator[str]:
    for gang, why in outcome.waiting.items():
        if gang in groups:
            yield from _of_one_waiting(where, groups[gang], why)
        else:
            yield f"there is no PodGroup {gang}"


def _of_one_waiting(where: Cluster, group: Group, why: Waiting) -> Iterator[str]:
    stated = _scheduled(group)
    if (stated.get("status"), stated.get("reason")) != ("False", why.reason):
        yield f"the PodGroup does not wait because of {why.reason}: its condition is {stated}"
    elif why.message not in stated["message"]:
        yield f"the PodGroup does not say {why.message!r} but {stated['message']!r}"
    if why.reason in WITHOUT_EVENT:
        return
    metadata = group["metadata"]
    events = placements.items(where, EVENTS.format(metadata["namespace"]))
    about = [each for each in events if each["regarding"].get("uid") == metadata["uid"]]
    notes = [each.get("note", "") for each in about]
    if not any(why.message in note for note in notes):
        yield f"no Event says {why.message!r} but {notes}"


def _scheduled(group: Group) -> Mapping[str, Any]:
    conditions: list[dict[str, Any]] = group.get("status", {}).get("conditions", [])
    return next((each for each in conditions if each["type"] == "Scheduled"), {})
