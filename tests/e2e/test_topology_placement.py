"""Where gangs go that ask something of the network, and what they say when they cannot."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import trees
from e2e.support import gang_manifests, manifests, networks
from e2e.support.manifests import gang, members, pod
from e2e.support.namespaces import Namespace
from e2e.support.networks import SPINES, Network
from e2e.support.waiting import eventually, until
from tools import controlplane
from tools.controlplane import access

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("scheduler")]

EIGHT = trees.cluster("koord8")
CPUS = 16


@pytest.fixture(scope="module")
def plane(crds: Path) -> Iterator[controlplane.ControlPlane]:
    """Give a control plane without nodes."""
    with controlplane.start() as started:
        started.kubectl("apply", f"--filename={crds}")
        yield started


@pytest.fixture(scope="module")
def operator_process(plane: controlplane.ControlPlane) -> Iterator[controlplane.Scheduler]:
    with controlplane.Scheduler(plane) as started:
        yield started


@pytest.fixture
def network(plane: controlplane.ControlPlane) -> Iterator[Network]:
    """Give the eight nodes of the worked cases, of 16 CPUs each, and their topology."""
    with Network(plane) as made:
        made.build(EIGHT.labels, CPUS)
        made.has(EIGHT.spec)
        until(made.detail)
        yield made


def test_a_gang_that_prefers_to_gather_goes_where_the_worked_case_says(
    network: Network, namespace: Namespace
) -> None:
    case = trees.cases("plan")["plan-prefer-gather-4"]
    status = trees.cases("topologyStatus")["status-8-nodes"]
    strategies = {each["layer"]: each["strategy"] for each in case["job"]["gatherStrategy"]}
    group = manifests.pod_group("gang-a", case["job"]["minMember"])
    everyone = [
        pod(each["name"], gang_name="gang-a", cpu=each["requests"]["cpu"])
        for each in case["job"]["pods"]
    ]

    # Members have no indexes: their names are in the order of their ranks.
    namespace.create_in_order([*networks.asking([group], **strategies), *everyone])

    eventually(case["expect"]["assignments"], namespace.bound)
    eventually(trees.expected_status(status), network.detail)
    eventually("Running", lambda: namespace.phase("gang-a"))
    assert "SpineLayer/s1" == namespace.status("gang-a")["domain"]
    heading, row = namespace.kubectl("get", "podgroups", "--output=wide").splitlines()
    assert "SpineLayer/s1" == row[heading.index("DOMAIN") :].split()[0]


@pytest.mark.usefixtures("network")
def test_a_gang_that_must_gather_says_what_every_domain_offers(namespace: Namespace) -> None:
    namespace.create(pod("x", cpu=CPUS, nodeName="node-1"), pod("y", cpu=CPUS, nodeName="node-3"))
    first = f"No SpineLayer has 4 nodes with {CPUS} free cpu: s1 has 3, s2 has 3"
    message = (
        "no candidate topology nodes can accommodate job, desiredOfferSlot: 4, "
        "topology topologyNode SpineLayer/s1: 3;topology topologyNode SpineLayer/s2: 3"
    )

    namespace.create(*networks.asking(gang("a", 4, cpu=CPUS), SpineLayer="MustGather"))

    eventually({"Unschedulable"}, lambda: {reason(namespace, f"a-{i}") for i in range(4)})
    for i in range(4):
        condition = namespace.condition_of_pod(f"a-{i}")
        assert "False" == condition["status"]
        assert condition["message"].startswith(first)
        assert message in condition["message"]
    eventually("Unschedulable", lambda: namespace.condition_of_gang("a", "Scheduled")["reason"])
    assert until(lambda: namespace.notes("a", "FailedScheduling"))[0].startswith(first)
    assert "" == namespace.status("a").get("domain", "")

    namespace.delete("pods", "y")
    eventually(
        {"node-3", "node-4", "node-5", "node-6"}, lambda: set(namespace.bound("a-").values())
    )


def test_a_gang_waits_for_a_layer_that_is_called_otherwise_until_it_is_there(
    network: Network, namespace: Namespace
) -> None:
    namespace.create(*networks.asking(gang("a", 2, cpu=CPUS), spineLayer="MustGather"))

    eventually("UnknownLayer", lambda: reason(namespace, "a-0"))
    assert "did you mean SpineLayer" in namespace.condition_of_pod("a-0")["message"]
    eventually("UnknownLayer", lambda: namespace.condition_of_gang("a", "Scheduled")["reason"])
    assert "did you mean SpineLayer" in until(lambda: namespace.notes("a", "InvalidGang"))[0]
    assert {} == namespace.bound()

    network.has(networks.layers({"spineLayer": networks.SPINE, "BlockLayer": networks.BLOCK}))

    eventually("Running", lambda: namespace.phase("a"))
    assert "BlockLayer/s1/b1" == namespace.status("a")["domain"]


def test_a_layer_that_is_only_preferred_holds_up_no_pod_if_it_is_unknown(
    network: Network, namespace: Namespace
) -> None:
    preferences = {"RackLayer": "PreferGather", "SpineLayer": "PreferGather"}
    namespace.create(*networks.asking(gang("a", 3, cpu=CPUS), **preferences))

    eventually("Running", lambda: namespace.phase("a"))
    assert "SpineLayer/s1" == namespace.status("a")["domain"]
    eventually("True", lambda: namespace.condition_of_gang("a", "UnknownLayer").get("status"))
    assert any("RackLayer" in note for note in until(lambda: namespace.notes("a", "UnknownLayer")))
    assert SPINES == network.topology()["spec"]["networkTopologySpec"]


@pytest.mark.usefixtures("network")
def test_a_gang_group_shares_the_spine_that_one_of_its_gangs_asks_for(namespace: Namespace) -> None:
    head, *heads = networks.asking(gang("head", 1, cpu=CPUS), SpineLayer="MustGather")
    head = gang_manifests.grouped(head, f"{namespace.name}/workers")

    # Only the head names the group: workers that are seen before it start without it.
    namespace.create(head)
    namespace.create(*heads, *gang("workers", 3, cpu=CPUS))

    eventually({"node-1", "node-2", "node-7", "node-8"}, lambda: set(namespace.bound().values()))


@pytest.mark.usefixtures("network")
def test_a_replacement_goes_beside_its_neighbours_in_rank(namespace: Namespace) -> None:
    everyone = networks.asking(gang("a", 3, cpu=CPUS), SpineLayer="MustGather")
    namespace.create(*everyone)
    eventually({"a-0": "node-1", "a-1": "node-8", "a-2": "node-2"}, namespace.bound)
    namespace.delete("pods", "a-1", "a-2")

    # Of the three nodes that are free in the spine, node-8 shares a block with the member left.
    namespace.create(everyone[3])
    eventually({"a-0": "node-1", "a-2": "node-8"}, namespace.bound)

    namespace.create(everyone[2])
    eventually(3, lambda: len(namespace.bound()))
    assert namespace.node_of("a-1") in ("node-2", "node-7")


@pytest.mark.usefixtures("network")
def test_a_replacement_waits_while_its_domain_is_full(namespace: Namespace) -> None:
    everyone = networks.asking(gang("a", 3, cpu=CPUS), SpineLayer="MustGather")
    namespace.create(*everyone)
    eventually({"a-0": "node-1", "a-1": "node-8", "a-2": "node-2"}, namespace.bound)
    namespace.delete("pods", "a-0")
    others = [pod(f"on-{node}", cpu=CPUS, nodeName=node) for node in ("node-1", "node-7")]
    namespace.create(*others)

    namespace.create(everyone[1])

    eventually("Unschedulable", lambda: reason(namespace, "a-0"))
    assert "waits for room in SpineLayer/s1" in namespace.condition_of_pod("a-0")["message"]
    # The other spine is empty, and a gang without a topology request may go there.
    namespace.create(*gang("free", 4, cpu=CPUS))
    eventually(4, lambda: len(namespace.bound("free-")))
    assert namespace.node_of("a-0") is None

    namespace.delete("pods", "on-node-7")
    eventually("node-7", lambda: namespace.node_of("a-0"))


def test_a_gang_that_a_moved_node_has_split_says_so_and_gathers_where_most_of_it_is(
    network: Network, namespace: Namespace
) -> None:
    everyone = networks.asking(gang("a", 4, cpu=CPUS), SpineLayer="MustGather")
    namespace.create(*everyone)
    eventually({"node-1", "node-2", "node-7", "node-8"}, lambda: set(namespace.bound().values()))
    eventually("SpineLayer/s1", lambda: namespace.status("a").get("domain"))
    with access.Client(network.cluster.access) as client:
        networks.move(client, "node-2", networks.SPINE, "s2")
    eventually(5, lambda: network.node_nums().get("s2"))

    namespace.delete("pods", "a-1")
    namespace.create(everyone[2])

    eventually("node-8", lambda: namespace.node_of("a-1"))
    eventually("True", lambda: namespace.condition_of_gang("a", "Scattered").get("status"))


@pytest.mark.usefixtures("network")
def test_surplus_that_comes_later_stays_in_the_domain_of_its_gang(namespace: Namespace) -> None:
    everyone = networks.asking(gang("a", 3, cpu=CPUS), SpineLayer="MustGather")
    namespace.create(*everyone)
    eventually(3, lambda: len(namespace.bound("a-")))

    namespace.create(*(networks.indexed(each) for each in members("a", 2, first=3, cpu=CPUS)))

    eventually("node-7", lambda: namespace.node_of("a-3") or namespace.node_of("a-4"))
    eventually({"", "Unschedulable"}, lambda: {reason(namespace, f"a-{i}") for i in (3, 4)})
    assert 4 == len(namespace.bound("a-"))


def reason(namespace: Namespace, name: str) -> str:
    return str(namespace.condition_of_pod(name).get("reason", ""))
