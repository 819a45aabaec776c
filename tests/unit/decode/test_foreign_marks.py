"""Marks of other products that people leave on pods, templates and workloads."""

import pytest

from gang_scheduler.decode import foreign_marks
from gang_scheduler.decode.foreign_marks import MARKS, Verdict

LEFT_BEHIND = """
gpu-fraction gpu-memory gpu-fraction-num-devices kai.scheduler/queue kai.scheduler/topology
kai.scheduler/topology-required-placement kai.scheduler/topology-preferred-placement
kai.scheduler/subgroup-name runai/queue run.ai/queue pod-group-name user project
volcano.sh/network-topology-mode volcano.sh/network-topology-highest-tier
volcano.sh/numa-topology-policy volcano.sh/preemptable volcano.sh/queue-name
scheduling.volcano.sh/queue-name volcano.sh/cooldown-time volcano.sh/revocable-zone
volcano.sh/jdb-min-available volcano.sh/jdb-max-unavailable volcano.sh/task-topology-affinity
volcano.sh/gpu-memory volcano.sh/gpu-number volcano.sh/vgpu-number
scheduling.koordinator.sh/gpu-partition-spec scheduling.koordinator.sh/device-allocate-hint
scheduling.koordinator.sh/reservation-affinity quota.scheduling.koordinator.sh/name
koordinator.sh/qosClass koordinator.sh/priority-class scheduling.koordinator.sh/resource-spec
scheduling.koordinator.sh/numa-topology-spec kueue.x-k8s.io/queue-name
kueue.x-k8s.io/priority-class kueue.x-k8s.io/max-exec-time-seconds
kueue.x-k8s.io/job-min-parallelism kueue.x-k8s.io/pod-group-name kueue.x-k8s.io/retriable-in-group
kueue.x-k8s.io/podset-required-topology kueue.x-k8s.io/podset-group-name
kueue.x-k8s.io/elastic-job provreq.kueue.x-k8s.io/* grove.io/podgang grove.io/podclique
alpha.jobset.sigs.k8s.io/exclusive-topology leaderworkerset.sigs.k8s.io/exclusive-topology
alpha.jobset.sigs.k8s.io/node-selector slurmjob.slinky.slurm.net/gres slurmjob.slinky.slurm.net/*
yunikorn.apache.org/task-groups yunikorn.apache.org/task-group-name
yunikorn.apache.org/schedulingPolicyParameters yunikorn.apache.org/queue queue applicationId
hami.io/* nvidia.com/use-gputype nvidia.com/gpumem nvidia.com/gpucores nvidia.com/mig-*
cluster-autoscaler.kubernetes.io/safe-to-evict descheduler.alpha.kubernetes.io/evict
karpenter.sh/do-not-disrupt scheduling.x-k8s.io/pod-group scheduling.k8s.io/group-name
ray.io/scheduler-name sidecar.istio.io/inject
""".split()  # noqa: SIM905 - a list of that many.
"""What was found in manifests of people who came from other schedulers; `*` stands for any end."""
REFUSED = [each.key.replace("*", "nodes") for each in MARKS if each.verdict is Verdict.REFUSED]


def told(labels: dict[str, str], present: dict[str, str], source: str = "") -> list[str]:
    return [str(each) for each in foreign_marks.refused(labels, present, source)]


@pytest.mark.parametrize("key", LEFT_BEHIND)
def test_nothing_that_was_left_behind_is_unknown(key: str) -> None:
    found = foreign_marks.of(key.replace("*", "any"))

    assert found is not None
    assert found.why
    assert found.product


def test_each_key_has_one_row() -> None:
    keys = [each.key for each in MARKS]

    assert sorted(set(keys)) == sorted(keys)


@pytest.mark.parametrize("key", REFUSED)
def test_what_is_refused_is_named_wherever_it_is_written(key: str) -> None:
    (label,), (annotation,) = told({key: "x"}, {}), told({}, {key: "x"})

    assert label.startswith(f"metadata.labels[{key}] is for ")
    assert annotation.startswith(f"metadata.annotations[{key}] is for ")


@pytest.mark.parametrize("verdict", [each for each in Verdict if each is not Verdict.REFUSED])
def test_what_is_read_or_passed_over_is_never_refused_so(verdict: Verdict) -> None:
    others = {each.key.replace("*", "any"): "x" for each in MARKS if each.verdict is verdict}

    assert [] == told(others, others)


@pytest.mark.parametrize(
    ("labels", "present", "source", "refused"),
    [
        ({"volcano.sh/preemptable": "true"}, {}, "", 0),
        ({"volcano.sh/preemptable": "false"}, {}, "", 1),
        ({"volcano.sh/preemptable": "false"}, {}, "VolcanoPodGroup", 0),
        ({}, {"volcano.sh/network-topology-mode": "soft"}, "", 0),
        ({}, {"volcano.sh/network-topology-mode": "hard"}, "", 1),
        ({}, {"volcano.sh/network-topology-highest-tier": "2"}, "", 1),
        (
            {},
            {
                "volcano.sh/network-topology-mode": "soft",
                "volcano.sh/network-topology-highest-tier": "2",
            },
            "",
            0,
        ),
        ({"kai.scheduler/queue": "a", "py-gang-scheduler.io/queue": "b"}, {}, "", 0),
        (
            {},
            {
                "kai.scheduler/topology-required-placement": "rack",
                "kueue.x-k8s.io/podset-required-topology": "rack",
            },
            "",
            0,
        ),
        ({}, {"volcano.sh/numa-topology-policy": "best-effort"}, "", 0),
        ({}, {"volcano.sh/numa-topology-policy": "single-numa-node"}, "", 1),
        ({}, {"slurmjob.slinky.slurm.net/account": "a"}, "", 0),
        ({"app": "a", "queue": "q"}, {"gpu-memory-note": "x"}, "", 0),
    ],
)
def test_harmless_values_are_not_refused(
    labels: dict[str, str], present: dict[str, str], source: str, refused: int
) -> None:
    assert refused == len(told(labels, present, source))
