"""Law: no gang can delay a gang of another namespace that does not name it."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gang_scheduler.model.plan import Plan
from support import api_objects, builders
from support.in_memory_cluster import (
    Body,
    InMemoryCluster,
    group_body,
    job_body,
    job_set_body,
    native_body,
    options,
)

OURS, FOREIGN = "ours", "foreign"
NAMES = ["a", "b", "c"]
names = st.sampled_from(NAMES)
Draw = Callable[..., Any]


@st.composite
def said(draw: st.DrawFn, namespace: str) -> dict[str, str]:
    """Return options of a gang; our gangs name only our own, foreign gangs name any gang."""
    whom = [OURS] if namespace == OURS else [OURS, OURS, FOREIGN]
    # A name said twice is a case of its own: see test_gang_groups.
    named = draw(st.lists(st.tuples(st.sampled_from(whom), names), max_size=2, unique=True))
    return {
        "groups": draw(st.sampled_from(["[]", json.dumps([f"{n}/{g}" for n, g in named])])),
        **draw(st.sampled_from([{}, {}, {"mode": "NonStrict"}, {"mode": "junk"}])),
        **draw(st.sampled_from([{}, {}, {"total_number": "9"}])),
    }


@st.composite
def objects(draw: st.DrawFn, namespace: str) -> list[Body]:
    """Return an object of a namespace, or some pods of one gang."""
    name, minimum = draw(names), draw(st.integers(1, 3))
    match draw(st.sampled_from(["group", "group", "pods", "pods", "native", "job", "job set"])):
        case "group":
            return [group_body(name, minimum, namespace, **draw(said(namespace)))]
        case "native":
            return [in_namespace(native_body(name, minimum), namespace)]
        case "job":
            return [in_namespace(job_body(name, parallelism=minimum), namespace)]
        case "job set":
            return [in_namespace(job_set_body(name, {"w": (1, minimum)}), namespace)]
    return [draw(a_pod(namespace, name)) for _ in range(minimum)]


@st.composite
def a_pod(draw: st.DrawFn, namespace: str, gang: str) -> Body:
    """Return a pod that says in some way that it is of the gang. Each namespace has a node."""
    number = draw(st.integers(0, 5))
    name = draw(st.sampled_from([f"{gang}-{number}", f"{gang}-{number}", gang]))
    metadata: dict[str, Any] = {"namespace": namespace, "uid": f"{namespace}/{name}"}
    spec: dict[str, Any] = {"nodeSelector": {"for": namespace}}
    match draw(st.sampled_from(["label", "label", "annotation", "native", "job", "alone"])):
        case "label":
            metadata["labels"] = {builders.POD_GROUP_LABEL: gang}
        case "annotation":
            given = {"name": gang, "min_available": "1", **draw(said(namespace))}
            metadata["annotations"] = options(given)
        case "native":
            spec["schedulingGroup"] = {"podGroupName": gang}
        case "job":
            owner = {"kind": "Job", "name": gang, "uid": f"uid-job-{gang}", "controller": True}
            metadata["ownerReferences"] = [{"apiVersion": "batch/v1", **owner}]
            metadata["labels"] = {"py-gang-scheduler.io/gang": "true"}
    if namespace == FOREIGN:
        spec["priority"] = draw(st.sampled_from([0, 1000]))
    return api_objects.pod_body(name, metadata=metadata, **spec)


def in_namespace(body: Body, namespace: str) -> Body:
    metadata = body["metadata"]
    uid = f"{namespace}/{metadata['uid']}"
    return {**body, "metadata": {**metadata, "namespace": namespace, "uid": uid}}


def decided(seen: list[list[Body]]) -> list[list[tuple[object, ...]]]:
    """Return what is decided on our gangs, cycle by cycle: one after each object."""
    cluster = InMemoryCluster()
    for namespace, cpu in ((OURS, "4"), (FOREIGN, "4")):
        offered = {"cpu": cpu, "memory": "1Gi", "pods": "99"}
        metadata = {"labels": {"for": namespace}}
        cluster.put(
            api_objects.node_body(f"of-{namespace}", allocatable=offered, metadata=metadata)
        )
    found = []
    for bodies in seen:
        for body in bodies:
            if body["kind"] == "Pod":
                key = (body["metadata"]["namespace"], body["metadata"]["name"])
                cluster.pods[key] = dict(body)
            cluster.put(body)
        if bodies[0]["metadata"]["namespace"] == OURS:
            found.append(on_ours(cluster.cycle()))
        else:
            cluster.cycle()
    return [
        *found,
        on_ours(cluster.cycle(later=100)),
        on_ours(cluster.cycle(later=100)),
        bound(cluster),
    ]


def bound(cluster: InMemoryCluster) -> list[tuple[object, ...]]:
    return sorted(
        (name, body["spec"].get("nodeName", ""))
        for (namespace, name), body in cluster.pods.items()
        if namespace == OURS
    )


def on_ours(plan: Plan) -> list[tuple[object, ...]]:
    return [
        *((each.gang.key, each.binds) for each in plan.placed if each.gang.key.namespace == OURS),
        *(
            (each.gang.key, each.reason, [pod.uid for pod in each.pods])
            for each in plan.refused
            if each.gang.key.namespace == OURS
        ),
    ]


@given(
    st.lists(
        st.sampled_from([OURS, FOREIGN]).flatmap(objects),
        min_size=1,
        max_size=14,
    )
)
def test_the_plan_of_a_namespace_is_the_same_with_and_without_foreign_objects(
    seen: list[list[Body]],
) -> None:
    ours = [each for each in seen if each[0]["metadata"]["namespace"] == OURS]

    assert decided(ours) == decided(seen)
