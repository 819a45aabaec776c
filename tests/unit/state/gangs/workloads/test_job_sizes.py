"""Which members there may be beside those that there are; the rest is tested with gang infos."""

from dataclasses import replace

import pytest

from gang_scheduler.decode.gang_annotations import GangOptions
from gang_scheduler.model.pods import Pod, PodClass
from gang_scheduler.model.refs import GangKey, JobPods
from gang_scheduler.state.gangs.workloads import GangsByWorkload, JobSizes
from gang_scheduler.workloads import job_sets
from support.builders import gang_key, gang_spec, pod, pod_class
from support.gang_queue_builders import gang_info

KEY = gang_key("a")
SMALL, LARGE = pod_class(cpu=1), pod_class(cpu=2)


def sizes(gangs: GangsByWorkload | None = None) -> JobSizes:
    """Return a Job of four pods, and a JobSet of which one part has six."""
    known = JobSizes(gangs or GangsByWorkload())
    known.upsert("uid-j", JobPods(at_once=4, left=4, completions=4))
    known.upsert_parts("uid-s", [("default/s/workers", 6), ("default/s/launcher", 1)])
    return known


def member(name: str, cpu: int = 1, part: str = "", job: str = "") -> Pod:
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "s",
        "jobset.sigs.k8s.io/replicatedjob-name": part,
    }
    return pod(name, gang="a", cpu=cpu, job=job or f"job-{part}", labels=labels if part else {})


def absent(
    *members: Pod, total: int | None = None, each_alone: bool = False, key: GangKey = KEY
) -> list[tuple[PodClass, int]]:
    spec = replace(
        gang_spec("a", 1), key=key, options=GangOptions(total=total), each_alone=each_alone
    )
    return list(sizes().absent(gang_info(key, members, [spec])))


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ([member("p", job="j")], [(SMALL, 3)]),
        ([member("p", job="other")], []),
        ([member(f"p{i}", job="j") for i in range(4)], []),
        ([member("p", 2, part="workers")], [(LARGE, 5)]),
        ([member("p", part="workers"), member("q", part="workers", job="2")], [(SMALL, 4)]),
        ([member("p", part="launcher"), member("q", 2, part="workers")], [(LARGE, 5)]),
        ([replace(member("p", job="j"), gated=True)], []),
    ],
)
def test_more_pods_of_a_job_may_come(
    members: list[Pod], expected: list[tuple[PodClass, int]]
) -> None:
    assert expected == absent(*members)


def test_what_a_total_says_beyond_jobs_is_like_most_members() -> None:
    members = [member("p", job="j"), member("q", 2), member("r", 2)]

    assert [(SMALL, 3), (LARGE, 4)] == absent(*members, total=10)
    assert [(SMALL, 3)] == absent(*members, total=5)


def test_a_pod_that_is_a_gang_by_itself_is_all_of_it() -> None:
    assert [] == absent(member("p", job="j"), each_alone=True)
    assert [] == absent(member("p", job="j"), key=GangKey("Pod", "default", "p"))


def test_gangs_hear_of_other_sizes_of_a_job_set() -> None:
    gangs = GangsByWorkload()
    known = sizes(gangs)
    gangs.upsert_member(KEY, member("p", part="workers"))

    same = known.upsert_parts("uid-s", [("default/s/workers", 6)])
    more = known.upsert_parts("uid-s", [("default/s/workers", 7)])
    gone = known.upsert_parts("uid-s", [])

    assert (set(), {KEY}, {KEY}) == (same, more, gone)
    assert () == known.absent(gang_info(KEY, [member("p", part="workers")]))


def test_a_job_set_says_how_many_pods_its_parts_can_have() -> None:
    workers = {"replicas": 2, "template": {"spec": {"parallelism": 4, "completions": 3}}}
    body = {
        "metadata": {"name": "s", "namespace": "default", "uid": "u"},
        "spec": {
            "replicatedJobs": [
                {"name": "workers", **workers},
                {"name": "launcher", "template": {"spec": {}}},
            ]
        },
    }

    expected = (("default/s/workers", 6), ("default/s/launcher", 1))
    assert expected == job_sets.read(body).parts
