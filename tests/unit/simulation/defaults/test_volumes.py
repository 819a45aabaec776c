"""Claims and volumes get what the controllers of a cluster would have given them."""

from typing import Any

import pytest

from gang_scheduler.api.kinds import PODS
from gang_scheduler.decode.volumes import Claim, PersistentVolume
from gang_scheduler.model.plan import Bind
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import documents, objects
from gang_scheduler.simulation.objects import UnreadableInput
from gang_scheduler.simulation.run import Options, simulate
from support import yaml_texts
from support.volume_builders import claim_body, class_body, local_class_body, mounting, volume_body

OWN = {"volumeClaimTemplate": {"spec": {"storageClassName": "late"}}}


def loaded(*bodies: dict[str, Any]) -> list[Any]:
    found = objects.load(documents.parse("f", yaml_texts.written_all(bodies)), "ours").loaded
    return [each.decoded for each in found if each.gvr != PODS]


def pod(name: str, volumes: list[dict[str, Any]]) -> dict[str, Any]:
    spec = {"volumes": volumes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def decided(*bodies: dict[str, Any]) -> list[Bind]:
    read = objects.load(documents.parse("f", yaml_texts.written_all(bodies)), "ours")
    outcome = simulate(read, Options(Policy(scheduler_names=("ours",)), until_settled=True))
    return [bind for placed in outcome.placed for bind in placed.binds]


def node(name: str) -> dict[str, Any]:
    status = {"allocatable": {"cpu": 4, "pods": 9}}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


@pytest.mark.parametrize(
    ("rest", "available"),
    [
        ({"status": {}}, True),
        ({"status": {"phase": "Released"}}, False),
        ({"status": {}, "spec": {"claimRef": {"namespace": "default", "name": "x"}}}, False),
    ],
)
def test_a_volume_is_available_unless_it_says_otherwise(
    rest: dict[str, Any],
    available: bool,  # noqa: FBT001 - a row of a table.
) -> None:
    (volume,) = loaded({**volume_body("d"), **rest})

    assert isinstance(volume, PersistentVolume)
    assert available == volume.available


@pytest.mark.parametrize(
    ("status", "bound"), [({}, True), ({"phase": "Bound"}, True), ({"phase": "Pending"}, False)]
)
def test_a_claim_with_a_volume_is_bound(status: dict[str, Any], bound: bool) -> None:  # noqa: FBT001 - a row of a table.
    (claim,) = loaded(
        {**claim_body("c", volume="d", metadata={"annotations": {}}), "status": status}
    )

    assert isinstance(claim, Claim)
    assert bound == claim.bound


def test_a_claim_without_a_class_gets_the_default() -> None:
    default = class_body("fast")
    default["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    body = claim_body("c")
    del body["spec"]["storageClassName"]

    claims = [each for each in loaded(body, claim_body("d", ""), default) if hasattr(each, "need")]

    assert ["fast", ""] == [each.need.storage_class for each in claims]


def test_a_generic_ephemeral_volume_has_a_claim_of_its_own() -> None:
    (claim,) = loaded(pod("p", [{"name": "data", "ephemeral": OWN}]))

    assert isinstance(claim, Claim)
    assert ("default/p-data", "late") == (claim.key, claim.need.storage_class)
    assert "simulated-000000000001" == claim.owner


def test_a_claim_template_must_be_one() -> None:
    with pytest.raises(UnreadableInput) as caught:
        loaded(pod("p", [{"name": "data", "ephemeral": {"volumeClaimTemplate": 3}}]))

    words = "spec.volumes[0].ephemeral.volumeClaimTemplate must be an object, not 3"
    assert [f"f: document 1: {words}"] == list(caught.value.lines)


def test_a_volume_is_given_away_once_in_all_cycles() -> None:
    claims = [claim_body(name, "local") for name in ("one", "two")]
    pods = [pod(name, mounting(name)) for name in ("one", "two")]

    binds = decided(node("n"), *claims, *pods, local_class_body(), volume_body("d", "local"))

    assert [("one", ("d",))] == [(bind.pod.name, bind.volumes) for bind in binds]
