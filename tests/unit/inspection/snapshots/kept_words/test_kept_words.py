"""What is the same in every cluster."""

import pytest

from gang_scheduler.api import annotations
from gang_scheduler.inspection.snapshots import kept_words


@pytest.mark.parametrize(
    "key",
    [
        *("kubernetes.io/hostname", "topology.kubernetes.io/zone", "nvidia.com/gpu.product"),
        *("kueue.x-k8s.io/queue-name", annotations.POD_GROUP_LABEL, annotations.QUEUE),
        *("spark-role", "metadata.name"),
    ],
)
def test_keys_of_products_are_known(key: str) -> None:
    assert kept_words.is_known(key)


@pytest.mark.parametrize("key", ["app", "acme.com/team", "notkubernetes.io/x", "acme.io"])
def test_keys_of_users_are_not(key: str) -> None:
    assert not kept_words.is_known(key)


def test_roles_that_a_kind_knows_stay() -> None:
    assert kept_words.WORDS >= {"worker", "Worker", "launcher", "head", "executor"}
