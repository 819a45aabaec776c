"""Where pods may go, as the API server's own objects say it."""

from typing import Any

import pytest

from e2e.support.manifests import gang, pod
from e2e.support.namespaces import Namespace
from e2e.support.waiting import eventually, eventually_unschedulable

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

TAINT = {"key": "example.com/reserved", "value": "team-a", "effect": "NoSchedule"}


def test_a_taint_keeps_out_pods_that_do_not_tolerate_it(namespace: Namespace) -> None:
    (node,) = namespace.own_nodes(1, taints=[TAINT])
    toleration = {"key": TAINT["key"], "operator": "Equal", "value": "team-a"}
    namespace.create(pod("welcome", on=namespace.here, tolerations=[toleration]))
    namespace.create(pod("stranger", on=namespace.here))

    eventually(node, lambda: namespace.node_of("welcome"))
    must_be_refused(namespace, "stranger", "untolerated taint {example.com/reserved: team-a}")
    namespace.change_node(node, lambda found: found["spec"].pop("taints"))
    eventually(node, lambda: namespace.node_of("stranger"))


def test_a_node_selector_waits_for_a_node_with_the_labels(namespace: Namespace) -> None:
    (node,) = namespace.own_nodes(1)
    wanted = {**namespace.here, "example.com/disk": "fast"}
    namespace.create(*gang("a", 2, on=wanted))
    must_be_refused(namespace, "a-0", "didn't match Pod's node affinity/selector")

    namespace.change_node(node, lambda found: found["metadata"]["labels"].update(wanted))

    eventually({"a-0": node, "a-1": node}, lambda: namespace.bound("a"))


def test_required_node_affinity_is_honoured(namespace: Namespace) -> None:
    old, new = namespace.own_nodes(2)
    namespace.change_node(old, set_label("example.com/generation", "3"))
    namespace.change_node(new, set_label("example.com/generation", "4"))
    newer = {"key": "example.com/generation", "operator": "Gt", "values": ["3"]}
    named = {"key": "metadata.name", "operator": "In", "values": [old]}

    namespace.create(pod("by-label", affinity=required({"matchExpressions": [newer]})))
    namespace.create(pod("by-name", affinity=required({"matchFields": [named]})))

    eventually(new, lambda: namespace.node_of("by-label"))
    eventually(old, lambda: namespace.node_of("by-name"))


def test_a_host_port_is_given_once_a_node(namespace: Namespace) -> None:
    nodes = namespace.own_nodes(2)
    namespace.create(*gang("a", 2, host_port=8080, on=namespace.here))
    eventually(set(nodes), lambda: set(namespace.bound("a").values()))

    namespace.create(pod("third", host_port=8080, on=namespace.here))
    must_be_refused(namespace, "third", "didn't have free ports for the requested pod ports")
    freed = namespace.node_of("a-0")
    namespace.delete("pods", "a-0")
    eventually(freed, lambda: namespace.node_of("third"))


def test_a_cordoned_node_takes_no_pod_until_it_is_uncordoned(namespace: Namespace) -> None:
    (node,) = namespace.own_nodes(1)
    namespace.cluster.kubectl("cordon", node)
    namespace.create(*gang("a", 2, on=namespace.here))
    must_be_refused(namespace, "a-0", "node(s) were unschedulable")

    namespace.cluster.kubectl("uncordon", node)

    eventually({"a-0": node, "a-1": node}, lambda: namespace.bound("a"))


def test_a_node_that_is_not_ready_takes_no_pod_until_it_is(namespace: Namespace) -> None:
    # KWOK would make the node ready again.
    (node,) = namespace.own_nodes(1, kubelets=False)
    namespace.change_node(node, set_ready("False"), "status")
    namespace.create(*gang("a", 2, on=namespace.here))
    must_be_refused(namespace, "a-0", "node(s) were not ready")

    namespace.change_node(node, set_ready("True"), "status")

    eventually({"a-0": node, "a-1": node}, lambda: namespace.bound("a"))


def test_a_node_that_grows_takes_the_gang_that_waited_for_it(namespace: Namespace) -> None:
    (node,) = namespace.own_nodes(1, cpu=1, kubelets=False)
    namespace.create(*gang("a", 2, on=namespace.here))
    must_be_refused(namespace, "a-0", "1 Insufficient cpu")

    namespace.change_node(
        node, lambda found: found["status"]["allocatable"].update(cpu="2"), "status"
    )

    eventually({"a-0": node, "a-1": node}, lambda: namespace.bound("a"))


def test_a_new_node_takes_the_gang_that_waited_for_it(namespace: Namespace) -> None:
    namespace.create(*gang("a", 2, on=namespace.here))
    must_be_refused(namespace, "a-0", "didn't match Pod's node affinity/selector")

    (node,) = namespace.own_nodes(1)

    eventually({"a-0": node, "a-1": node}, lambda: namespace.bound("a"))


def test_a_deleted_node_takes_no_pod(namespace: Namespace) -> None:
    gone, there = namespace.own_nodes(2)
    namespace.cluster.request("DELETE", f"/api/v1/nodes/{gone}")
    namespace.create(*gang("a", 2, cpu=16, on=namespace.here))

    eventually({"a-0": there, "a-1": there}, lambda: namespace.bound("a"))
    namespace.create(pod("more", on=namespace.here))
    must_be_refused(namespace, "more", "1 Insufficient cpu")


def must_be_refused(namespace: Namespace, name: str, words: str) -> None:
    eventually_unschedulable(words, lambda: namespace.condition_of_pod(name))


def set_label(key: str, value: str) -> Any:
    return lambda found: found["metadata"]["labels"].update({key: value})


def set_ready(status: str) -> Any:
    def change(found: dict[str, Any]) -> None:
        (ready,) = (each for each in found["status"]["conditions"] if each["type"] == "Ready")
        ready["status"] = status

    return change


def required(term: dict[str, Any]) -> dict[str, Any]:
    terms = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
