"""Law: `simulate` speaks of every pending pod of ours, and of each pod in one list only."""

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gang_scheduler.model.pods import Pod
from gang_scheduler.settings.policy import Policy
from gang_scheduler.simulation import output_document
from gang_scheduler.simulation.objects import Objects
from gang_scheduler.simulation.run import Options, simulate
from property.manifests import OURS, Manifest, clusters, read
from support.thoroughness import cases


def pending(found: Objects, *, ours: bool) -> Counter[str]:
    """Return the pods that are to be placed, by us or by others: alive and without a node."""
    pods = (each.decoded for each in found.loaded if isinstance(each.decoded, Pod))
    waiting = (pod for pod in pods if pod.living and not pod.node)
    return Counter(pod.key for pod in waiting if (pod.scheduler == OURS) == ours)


def spoken_of(decided: dict[str, Any]) -> Counter[str]:
    listed = (each["pod"] for name in ("bindings", "nominations") for each in decided[name])
    return Counter(listed) + Counter(
        pod for each in decided["unschedulable"] for pod in each["pods"]
    )


@settings(max_examples=cases(100, thorough=3000))  # What a cycle may forget is rare.
@given(manifests=clusters(), until_settled=st.booleans())
def test_every_pending_pod_is_in_one_list(
    manifests: list[Manifest], *, until_settled: bool
) -> None:
    found = read(manifests)
    decided = output_document.document(
        simulate(found, Options(Policy(scheduler_names=(OURS,)), until_settled=until_settled))
    )

    # Where all of a gang is to be placed by others, it is said of its pods, once of each.
    assert pending(found, ours=True) == spoken_of(decided) - pending(found, ours=False)
    for each in decided["unschedulable"]:
        assert each["reason"]
        assert each["message"], each
        assert each["pods"], each
