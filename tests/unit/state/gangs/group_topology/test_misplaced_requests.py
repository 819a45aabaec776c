"""The pods of workloads that ask for a gang in the wrong place."""

from dataclasses import replace

import pytest

from gang_scheduler.api.annotations import JOB_SET_LABEL
from gang_scheduler.decode.gangs.specs import MisplacedRequest
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import WorkloadRef
from gang_scheduler.state.gangs.group_topology import MisplacedRequests
from support import builders

WRONG = Problem(Reason.INVALID_SPEC, InvalidInput("the label belongs elsewhere"))
WORKLOADS = [
    WorkloadRef(kind, builders.NAMESPACE, name) for kind, name in (("Job", "j"), ("JobSet", "s"))
]

of_each_kind = pytest.mark.parametrize("workload", WORKLOADS, ids=["Job", "JobSet"])


def of_both(name: str = "a", gang: str = "") -> Pod:
    """Return a pod of the Job `j` of the JobSet `s`."""
    made = builders.pod(name, job="j", gang=gang)
    return replace(made, labels={**made.labels, JOB_SET_LABEL: "s"})


@of_each_kind
def test_a_waiting_pod_of_the_workload_is_concerned(workload: WorkloadRef) -> None:
    requests, alone = MisplacedRequests(), of_both()
    requests.upsert_member(alone.gang, alone)
    request = MisplacedRequest(workload, WRONG)

    assert {alone.gang} == requests.upsert("u", request)
    assert set() == requests.upsert("u", request)
    assert {alone.gang} == requests.upsert("u", None)


@of_each_kind
def test_no_pod_that_is_bound_or_gone_or_in_a_gang_is_concerned(workload: WorkloadRef) -> None:
    requests, alone, gone = MisplacedRequests(), of_both(), of_both("b")
    member = of_both("c", gang="g")
    for pod in (alone, replace(alone, node="n"), gone, member):
        requests.upsert_member(pod.gang, pod)
    requests.delete_member(gone.gang, gone)

    assert set() == requests.upsert("u", MisplacedRequest(workload, WRONG))


@of_each_kind
def test_an_older_object_of_the_same_name_takes_nothing_with_it(workload: WorkloadRef) -> None:
    requests, alone = MisplacedRequests(), of_both()
    waits = builders.gang("a", members=[alone])
    waits = replace(waits, key=alone.gang)
    for uid in ("old", "new"):
        requests.upsert(uid, MisplacedRequest(workload, WRONG))
    requests.upsert("old", None)

    assert requests.problem(waits) is WRONG
    requests.upsert("new", None)
    assert requests.problem(waits) is None
