"""Volumes that a pod cannot have where it is bound."""

from typing import Any

import pytest

from support.audit_streams import NAMESPACE, Stream, bound, node, pod


def claim(name: str, volume: str = "", mode: str = "ReadWriteOnce") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": f"claim-{name}"},
        "spec": {"volumeName": volume, "accessModes": [mode]},
    }


def volume(name: str, zone: str | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"csi": {"driver": "disk.example.com", "volumeHandle": name}}
    if zone:
        expression = {"key": "zone", "operator": "In", "values": [zone]}
        spec["nodeAffinity"] = {
            "required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
        }
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "uid": f"volume-{name}"},
        "spec": spec,
    }


def with_claims(name: str, *claims: str) -> dict[str, Any]:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims]
    return pod(name, volumes=volumes)


@pytest.fixture
def stream() -> Stream:
    stream = Stream("volumes")
    stream.see(node("n1", labels={"zone": "a"}), volume("v1", "a"), volume("v2", "b"))
    return stream


def messages(stream: Stream) -> list[str]:
    stream.end()
    return [each.message for each in stream.found]


def test_a_volume_that_is_reached_is_right(stream: Stream) -> None:
    stream.see(claim("c", "v1"), bound(with_claims("p", "c"), "n1"))

    assert [] == messages(stream)


def test_a_volume_elsewhere_is_found(stream: Stream) -> None:
    stream.see(claim("c", "v2"), bound(with_claims("p", "c"), "n1"))

    words = "bound to n1: the volume of its claim lab/c cannot be reached from there"
    assert [words] == messages(stream)


def test_a_claim_that_is_not_bound_or_not_there_is_found(stream: Stream) -> None:
    stream.see(claim("c"), bound(with_claims("p", "c", "none"), "n1"))

    assert [
        "bound to n1: its claim lab/c is not bound",
        "bound to n1: its claim lab/none does not exist",
    ] == messages(stream)


def test_a_claim_whose_binding_is_heard_of_a_moment_later_was_bound(stream: Stream) -> None:
    stream.see(claim("c"), bound(with_claims("p", "c"), "n1"), claim("c", "v1"))

    assert [] == messages(stream)


def test_a_claim_for_one_pod_has_one(stream: Stream) -> None:
    stream.see(claim("c", "v1", "ReadWriteOncePod"))
    first = bound(with_claims("p", "c"), "n1")
    stream.see(first, bound(with_claims("q", "c"), "n1"))
    assert ["bound to n1, and lab/p uses its claim lab/c, too"] == messages(stream)

    stream.gone(first)
    stream.wait(10)
    stream.see(node("n2", labels={"zone": "a"}))
    assert 1 == len(messages(stream))


def test_more_volumes_than_a_node_takes_are_found(stream: Stream) -> None:
    driver = {"name": "disk.example.com", "allocatable": {"count": 1}}
    stream.see(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": "n1", "uid": "csi"},
            "spec": {"drivers": [driver]},
        }
    )
    stream.see(volume("v3"), claim("a", "v1"), claim("b", "v3"))
    stream.see(bound(with_claims("p", "a"), "n1"), bound(with_claims("q", "a"), "n1"))
    assert [] == messages(stream)

    stream.see(bound(with_claims("r", "b"), "n1"))
    words = "bound to n1, which has 2 of 1 volumes of disk.example.com then"
    assert [words] == messages(stream)
