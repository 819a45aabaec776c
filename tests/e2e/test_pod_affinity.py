"""What pods ask of each other, with members of a gang that see each other."""

from collections import Counter
from typing import Any

import pytest

from e2e.support.manifests import Manifest, gang, pod
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, eventually_unschedulable, until

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def test_members_that_avoid_each_other_take_a_node_each(namespace: Namespace) -> None:
    nodes = namespace.own_nodes(3)

    namespace.create(*apps(gang("a", 3, on=namespace.here, affinity=apart("a"))))

    eventually(sorted(nodes), lambda: sorted(namespace.bound("a").values()))


def test_one_more_member_than_nodes_keeps_all_of_them_waiting(namespace: Namespace) -> None:
    namespace.own_nodes(2)

    namespace.create(*apps(gang("a", 3, on=namespace.here, affinity=apart("a"))))

    must_be_refused(namespace, "a", "2 node(s) didn't match pod anti-affinity rules")
    assert {} == namespace.bound("a")
    namespace.own_nodes(1)
    eventually(3, lambda: len(set(namespace.bound("a").values())))


def test_a_gang_is_spread_over_three_zones(namespace: Namespace) -> None:
    zone_of = dict(zip(zoned(namespace, "abc"), "abc", strict=True))
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
    }

    namespace.create(*apps(gang("a", 7, on=namespace.here, topologySpreadConstraints=[constraint])))

    eventually(7, lambda: len(namespace.bound("a")))
    in_zones = Counter(zone_of[node] for node in namespace.bound("a").values())
    assert [2, 2, 3] == sorted(in_zones.values())


def test_a_gang_waits_for_pods_that_it_wants_to_be_near(namespace: Namespace) -> None:
    _, second = zoned(namespace, "ab")
    near = {"podAffinity": {REQUIRED: [term("b", ZONE)]}}
    namespace.create(*apps(gang("a", 2, on=namespace.here, affinity=near)))
    must_be_refused(namespace, "a", "2 node(s) didn't match pod affinity rules")

    namespace.create(*apps(gang("b", 2, on={**namespace.here, ZONE: zone(namespace, "b")})))

    eventually({"a-0": second, "a-1": second}, lambda: namespace.bound("a"))
    eventually({"b-0": second, "b-1": second}, lambda: namespace.bound("b"))


def test_a_pod_that_is_not_ours_keeps_ours_away(namespace: Namespace) -> None:
    first, second = namespace.own_nodes(2)
    theirs = labelled(pod("theirs", scheduler="somebody-else", affinity=apart("a")), "theirs")
    namespace.create(theirs)
    namespace.bind("theirs", first)
    eventually("Running", lambda: namespace.get("pods", "theirs")["status"]["phase"])

    namespace.create(labelled(pod("ours", cpu=2, on=namespace.here), "a"))
    eventually(second, lambda: namespace.node_of("ours"))
    namespace.create(labelled(pod("more", cpu=31, on=namespace.here), "a"))

    words = "1 node(s) didn't satisfy existing pods anti-affinity rules"
    assert words in until(lambda: namespace.condition_of_pod("more").get("message", ""))
    namespace.delete("pods", "theirs")
    eventually(first, lambda: namespace.node_of("more"))


def test_another_label_of_a_namespace_lets_a_pod_in(namespace: Namespace) -> None:
    (node,) = namespace.own_nodes(1)
    near = term("b", HOST, namespaceSelector={"matchLabels": {"e2e/tier": namespace.name}})
    namespace.create(labelled(pod("there", on=namespace.here), "b"))
    eventually(node, lambda: namespace.node_of("there"))
    namespace.create(pod("guest", on=namespace.here, affinity={"podAffinity": {REQUIRED: [near]}}))
    until(lambda: namespace.condition_of_pod("guest").get("message"))

    namespace.cluster.kubectl("label", "namespace", namespace.name, f"e2e/tier={namespace.name}")

    eventually(node, lambda: namespace.node_of("guest"))


def term(app: str, key: str, **fields: Any) -> dict[str, Any]:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key, **fields}


def apart(app: str) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: [term(app, HOST)]}}


def labelled(document: Manifest, app: str) -> Manifest:
    document["metadata"].setdefault("labels", {})["app"] = app
    return document


def apps(documents: list[Manifest]) -> list[Manifest]:
    """Give the pods of a gang a label with its name."""
    group, *pods = documents
    return [group, *(labelled(each, group["metadata"]["name"]) for each in pods)]


def zone(namespace: Namespace, name: str) -> str:
    return f"{namespace.name}-{name}"


def zoned(namespace: Namespace, names: str) -> list[str]:
    """Create a node in each of these zones."""
    labels = [{ZONE: zone(namespace, name)} for name in names]
    return [node for each in labels for node in namespace.own_nodes(1, labels=each)]


def must_be_refused(namespace: Namespace, name: str, words: str) -> None:
    eventually_unschedulable(words, lambda: namespace.condition_of_gang(name, "Scheduled"))
