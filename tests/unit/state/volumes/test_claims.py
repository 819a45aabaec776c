"""From the decision that a pod goes to a node to claims that are bound there."""

from typing import Any

import pytest

from gang_scheduler.model.causes.gangs import ClaimFailed, ClaimFault, UnboundClaim
from gang_scheduler.model.plan import Bind
from gang_scheduler.model.refs import ClaimRef, VolumeRef
from gang_scheduler.model.volumes import Need
from gang_scheduler.scheduler.cycle import schedule
from gang_scheduler.scheduler.profile import PROFILES
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes, MovedPods
from gang_scheduler.state.volumes.claims import ClaimStep, Progress, Stage
from support.api_objects import node_body, pod_body, pod_group_body
from support.builders import NAMESPACE
from support.volume_builders import (
    HOST,
    LOCAL,
    claim_body,
    class_body,
    cluster,
    local_class_body,
    lose,
    mounting,
    see,
    volume_body,
    waiting,
)

DATA = ClaimRef(NAMESPACE, "data", "uid-data")
NODES = [node_body(name, metadata={"labels": {HOST: name}}) for name in ("n1", "n2")]


def claim(name: str = "data", *, version: int = 1, **rest: Any) -> dict[str, Any]:
    body = claim_body(name, **rest)
    body["metadata"]["resourceVersion"] = str(version)
    return body


def made(*bodies: dict[str, Any]) -> Cache:
    """Return a cluster with a pod whose volume is made."""
    pod = pod_body("p", volumes=mounting("data"))
    return cluster(*NODES, pod, claim(), class_body(), *bodies)


def found(*bodies: dict[str, Any], changes: Changes | None = None) -> Cache:
    """Return a cluster with a pod that gets a local volume of its node n1."""
    pod = pod_body("p", volumes=mounting("data"))
    disk = volume_body("disk", LOCAL, nodes=["n1"])
    bound = (claim(storage_class=LOCAL), local_class_body(), disk)
    return cluster(*NODES, pod, *bound, *bodies, changes=changes)


def assumed(cache: Cache, name: str = "p") -> tuple[ClaimStep, ...]:
    """Place all that wait, and return the steps of one pod."""
    plan = schedule(cache.snapshot(0), PROFILES["binpack"])
    for bind in (bind for placed in plan.placed for bind in placed.binds):
        cache.assume(bind)
    return cache.volumes.steps(f"uid-{name}")


def progress(cache: Cache, name: str = "p") -> Progress:
    return cache.volumes.progress(f"uid-{name}")


def stage(cache: Cache) -> Stage:
    return progress(cache).stage


def needs(cache: Cache, name: str = "p") -> list[Need]:
    cache.snapshot(0)
    pod = cache.pod(f"uid-{name}")
    assert pod is not None
    assert pod.pod_class.storage is not None
    return list(pod.pod_class.storage.needs)


def test_a_new_volume_is_asked_for_by_selecting_the_node() -> None:
    cache = made()

    steps = assumed(cache)

    unbound = (UnboundClaim("default/data", "late"),)
    assert (ClaimStep(DATA, "n1"),) == steps
    assert Progress(Stage.WAITING, waiting=unbound) == progress(cache)


def test_a_volume_that_is_there_is_reserved() -> None:
    cache = found()

    steps = assumed(cache)

    assert (ClaimStep(DATA, "n1", VolumeRef("disk", "uid-disk")),) == steps
    assert stage(cache) is Stage.WAITING


def test_bound_claims_need_no_step() -> None:
    pod = pod_body("p", volumes=mounting("data"))
    disk = volume_body("disk", claim="data")
    cache = cluster(*NODES, pod, claim(volume="disk"), class_body(), disk)

    assert () == assumed(cache)
    assert stage(cache) is Stage.BOUND


def test_what_is_promised_is_promised_to_no_other_claim() -> None:
    cache = found()
    assumed(cache)

    other = pod_body("q", volumes=mounting("other"))
    see(cache, other, claim("other", storage_class=LOCAL))

    assert () == assumed(cache, "q")
    assert "q" not in waiting(cache)


def test_what_is_taken_back_is_free_again() -> None:
    cache = found()
    assumed(cache)

    cache.forget("uid-p")

    offered = cache.snapshot(0).volumes.available[LOCAL]
    assert [("disk", False)] == [(each.name, each.for_claim) for each in offered]
    assert () == cache.volumes.steps("uid-p")


def test_a_pod_that_is_gone_gives_its_promise_back() -> None:
    cache = found(pod_body("q", volumes=mounting("absent")))
    assumed(cache)

    cache.delete_pod("uid-p")

    offered = cache.volumes.snapshot().available[LOCAL]
    assert [("disk", False)] == [(each.name, each.for_claim) for each in offered]


def test_what_was_written_stays_promised_when_it_is_given_up() -> None:
    cache = found()
    (step,) = assumed(cache)

    cache.volumes.written(step, 5)
    cache.forget("uid-p")

    assert ["disk"] == [each.volume for each in needs(cache)]


def test_a_selected_node_that_was_written_binds_the_next_try() -> None:
    cache = made()
    (step,) = assumed(cache)

    cache.volumes.written(step, 5)
    cache.forget("uid-p")

    assert ["n1"] == [each.node for each in needs(cache)]


def test_a_step_that_was_written_is_not_written_again() -> None:
    cache = made()
    (step,) = assumed(cache)

    cache.volumes.written(step, 5)

    assert () == cache.volumes.steps("uid-p")
    assert stage(cache) is Stage.WAITING


def test_a_stale_state_changes_nothing() -> None:
    cache = made()
    (step,) = assumed(cache)
    cache.volumes.written(step, 5)

    see(cache, claim(version=4))

    assert stage(cache) is Stage.WAITING
    assert () == cache.volumes.steps("uid-p")


def test_a_claim_is_bound_when_the_controller_says_so() -> None:
    cache = made()
    (step,) = assumed(cache)
    cache.volumes.written(step, 5)
    stages = [stage(cache)]

    see(cache, claim(version=5, selected="n1"))
    stages.append(stage(cache))
    see(cache, claim(version=6, selected="n1", volume="disk", metadata={"annotations": {}}))
    stages.append(stage(cache))
    see(cache, volume_body("disk", claim="data", nodes=["n1"]))
    stages.append(stage(cache))
    see(cache, claim(version=7, selected="n1", volume="disk"))
    stages.append(stage(cache))

    assert [*[Stage.WAITING] * 4, Stage.BOUND] == stages


def test_an_answer_that_is_heard_before_the_write_returns_counts() -> None:
    cache = made()
    (step,) = assumed(cache)

    see(cache, claim(version=5, selected="n1"))
    cache.volumes.written(step, 5)
    see(cache, claim(version=6))

    assert Progress(Stage.FAILED, ClaimFailed(ClaimFault.NOT_PROVISIONED, "data")) == progress(
        cache
    )


def test_a_provisioner_that_gives_up_fails_the_claim() -> None:
    cache = made()
    (step,) = assumed(cache)
    cache.volumes.written(step, 5)
    see(cache, claim(version=5, selected="n1"))

    see(cache, claim(version=6))

    assert Progress(Stage.FAILED, ClaimFailed(ClaimFault.NOT_PROVISIONED, "data")) == progress(
        cache
    )


def test_a_volume_that_is_taken_away_fails_the_claim() -> None:
    cache = found()
    (step,) = assumed(cache)
    cache.volumes.written(step, 5)
    see(cache, volume_body("disk", LOCAL, nodes=["n1"], claim="data", version=5))
    before = stage(cache)

    see(cache, volume_body("disk", LOCAL, nodes=["n1"], version=6))

    reset = Progress(Stage.FAILED, ClaimFailed(ClaimFault.VOLUME_TAKEN_BACK, "disk"))
    assert (Stage.WAITING, reset) == (before, progress(cache))


def test_a_volume_elsewhere_fails_the_claim() -> None:
    cache = made()
    assumed(cache)

    see(cache, volume_body("disk", claim="data", nodes=["n2"]), claim(version=6, volume="disk"))

    failed = ClaimFailed(ClaimFault.VOLUME_OUT_OF_REACH, "disk", "n1")
    assert Progress(Stage.FAILED, failed) == progress(cache)


@pytest.mark.parametrize(
    ("gone", "failed"),
    [
        (claim(), ClaimFailed(ClaimFault.NOT_FOUND, "data")),
        (volume_body("disk", LOCAL), ClaimFailed(ClaimFault.VOLUME_NOT_FOUND, "disk")),
    ],
)
def test_what_is_gone_fails_the_claim(gone: dict[str, Any], failed: ClaimFailed) -> None:
    cache = found()
    assumed(cache)

    lose(cache, gone)

    assert Progress(Stage.FAILED, failed) == progress(cache)


def test_a_claim_that_is_going_fails() -> None:
    cache = made()
    assumed(cache)

    going = claim(version=2, metadata={"deletionTimestamp": "2024-05-01T12:00:00Z"})
    see(cache, going)

    failed = ClaimFailed(ClaimFault.DELETING, "data")
    assert Progress(Stage.FAILED, failed) == progress(cache)


def test_a_claim_that_no_provisioner_makes_a_volume_for_fails() -> None:
    cache = found()
    (pod,) = waiting(cache).values()

    cache.assume(Bind(pod, "n2"))

    failed = ClaimFailed(ClaimFault.NO_PROVISIONER, "data")
    assert Progress(Stage.FAILED, failed) == progress(cache)


def test_a_restart_goes_on_where_it_was() -> None:
    pod = pod_body("p", volumes=mounting("data"))
    cache = cluster(*NODES, pod, claim(selected="n2"), class_body())

    steps = assumed(cache)

    bound = cache.pod("uid-p")
    assert bound is not None
    assert ("n2", (), Stage.WAITING) == (bound.node, steps, stage(cache))


def test_a_volume_that_was_reserved_before_a_restart_is_waited_for() -> None:
    pod = pod_body("p", volumes=mounting("data"))
    disk = volume_body("disk", LOCAL, nodes=["n2"], claim="data", phase="Available")
    cache = cluster(*NODES, pod, claim(storage_class=LOCAL), local_class_body(), disk)

    steps = assumed(cache)

    bound = cache.pod("uid-p")
    assert bound is not None
    assert ("n2", (), Stage.WAITING) == (bound.node, steps, stage(cache))


def test_a_volume_that_names_no_uid_is_reserved_for_the_one_it_means() -> None:
    pod = pod_body("p", volumes=mounting("data"))
    disk = volume_body("disk", LOCAL, claim="data", phase="Available")
    disk["spec"]["claimRef"] = {"namespace": NAMESPACE, "name": "data"}
    cache = cluster(*NODES, pod, claim(storage_class=LOCAL), local_class_body(), disk)

    assert (ClaimStep(DATA, "n1", VolumeRef("disk", "uid-disk")),) == assumed(cache)


def test_a_pod_that_waits_for_claims_is_touched_by_every_step() -> None:
    changes = Changes()
    heard: list[str] = []
    cache = found(pod_body("q", volumes=mounting("other")), changes=changes)
    changes.waits_for_claims |= {f"uid-{name}": MovedPods() for name in "pq"}
    assumed(cache)

    for body in (
        claim("other"),
        volume_body("disk", LOCAL, nodes=["n1"], claim="data", version=2),
        claim(version=2, storage_class=LOCAL, volume="disk"),
    ):
        see(cache, body)
        heard += [uid for each in changes.waits_for_claims.values() for uid in each.take_all()]

    assert ["uid-p", "uid-p"] == heard


def test_a_claim_that_two_pods_share_keeps_the_promise_of_the_other() -> None:
    pods = [pod_body(f"a-{i}", gang="a", volumes=mounting("data")) for i in range(2)]
    cache = cluster(*NODES, *pods, pod_group_body("a"), claim(), class_body())
    (first,), second = assumed(cache, "a-0"), cache.volumes.steps("uid-a-1")

    cache.forget("uid-a-0")

    assert (first,) == second == cache.volumes.steps("uid-a-1")
    assert ["n1"] == [each.node for each in needs(cache, "a-0")]


def test_claims_get_the_volumes_that_were_decided() -> None:
    pod = pod_body("p", volumes=mounting("small", "large", "new"))
    cache = cluster(
        *(*NODES, pod, local_class_body(), class_body()),
        *(claim("large", storage_class=LOCAL, size="2Gi"), claim("small", storage_class=LOCAL)),
        *(
            claim("new", size="3Gi"),
            volume_body("one", LOCAL),
            volume_body("two", LOCAL, size="2Gi"),
        ),
    )

    steps = assumed(cache)

    expected = {"small": "one", "large": "two", "new": ""}
    assert expected == {each.claim.name: each.volume.name if each.volume else "" for each in steps}
