"""Kueue's annotations on a pod are read as Kueue means them, or what is wrong is named."""

import json
from typing import Any

import pytest

from gang_scheduler.decode.pods import pod
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.topology_request import LayerRef, PodSet, Slices, TopologyRequest
from gang_scheduler.wire.base import Metadata
from support import decoded as pod_decode
from support.api_objects import pod_body
from support.builders import gang_key

PREFIX = "kueue.x-k8s.io/podset-"
SLICES = "slice-required-topology-constraints"
BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"


def field(name: str) -> str:
    return f"metadata.annotations[{PREFIX}{name}]"


def read(given: dict[str, str], **metadata: Any) -> PodSet | None:
    """Return what a pod asks for; `given` are annotations without their prefix."""
    present = {PREFIX + name: text for name, text in given.items()}
    return pod_decode.pod(pod_body(metadata={"annotations": present, **metadata})).podset


def asked(given: dict[str, str]) -> TopologyRequest:
    found = read(given)
    assert found is not None
    assert not found.problem
    return found.topology_request


def problem_of(given: dict[str, str]) -> str:
    found = read(given)
    assert found is not None
    assert TopologyRequest() == found.topology_request
    return found.problem


def layer(key: str) -> LayerRef:
    return LayerRef(key, by_label=True)


def listed(*entries: Any) -> dict[str, str]:
    return {SLICES: json.dumps(entries)}


def entry(topology: Any, size: Any, **others: Any) -> dict[str, Any]:
    return {"topology": topology, "size": size, **others}


@pytest.mark.parametrize(
    ("given", "expected", "where"),
    [
        ({"required-topology": RACK}, TopologyRequest(must=(layer(RACK),)), "required-topology"),
        (
            {"preferred-topology": HOST},
            TopologyRequest(prefer=(layer(HOST),), upward=True),
            "preferred-topology",
        ),
        ({"unconstrained-topology": "true"}, TopologyRequest(), "unconstrained-topology"),
        ({"group-name": "g"}, TopologyRequest(), "group-name"),
        (
            {"slice-required-topology": RACK, "slice-size": "4"},
            TopologyRequest(slices=(Slices(layer(RACK), 4),)),
            "slice-required-topology",
        ),
        (
            {"required-topology": BLOCK, "slice-required-topology": RACK, "slice-size": "004"},
            TopologyRequest(must=(layer(BLOCK),), slices=(Slices(layer(RACK), 4),)),
            "required-topology",
        ),
        (
            listed(entry(BLOCK, 32), entry(RACK, 16), entry(HOST, 16)),
            TopologyRequest(
                slices=(Slices(layer(BLOCK), 32), Slices(layer(RACK), 16), Slices(layer(HOST), 16))
            ),
            SLICES,
        ),
        (
            {"preferred-topology": BLOCK, "group-name": "g", **listed(entry(RACK, 1))},
            TopologyRequest(prefer=(layer(BLOCK),), upward=True, slices=(Slices(layer(RACK), 1),)),
            "preferred-topology",
        ),
        (
            {"unconstrained-topology": "1", "slice-required-topology": RACK, "slice-size": "2"},
            TopologyRequest(slices=(Slices(layer(RACK), 2),)),
            "slice-required-topology",
        ),
    ],
)
def test_what_is_asked_is_read(
    given: dict[str, str], expected: TopologyRequest, where: str
) -> None:
    found = asked(given)

    assert (expected, field(where)) == (found, found.where)


def test_a_pod_without_such_annotations_asks_for_nothing() -> None:
    others = {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/podset": "main"}

    assert (
        pod_decode.pod(pod_body(metadata={"annotations": others, "labels": others})).podset is None
    )


@pytest.mark.parametrize("text", ["false", "False", "0"])
def test_what_is_not_wanted_is_not_asked(text: str) -> None:
    assert read({"unconstrained-topology": text}) is None


def test_json_may_be_written_over_several_lines() -> None:
    text = f'\n[\n  {{"topology": "{RACK}", "size": 2}}\n]\n'

    assert (Slices(layer(RACK), 2),) == asked({SLICES: text}).slices


def test_the_name_of_a_group_is_read() -> None:
    found = read({"required-topology": RACK, "group-name": "leader-workers"})

    assert found is not None
    assert "leader-workers" == found.group


def test_pods_that_ask_alike_share_one_object() -> None:
    one, other = read({"required-topology": RACK}), read({"required-topology": RACK})

    assert one is other


# Which pods are one podset.


def owner(given: dict[str, str] | None = None, **metadata: Any) -> str:
    found = read(given or {"required-topology": RACK}, **metadata)
    assert found is not None
    return found.owner


def controlled(uid: str, *, controller: bool = True) -> dict[str, Any]:
    reference = {"kind": "Job", "name": f"job-{uid}", "uid": uid, "controller": controller}
    return {"ownerReferences": [reference]}


def test_pods_of_two_controllers_are_two_podsets() -> None:
    assert owner(**controlled("a")) != owner(**controlled("b"))
    assert owner(**controlled("a")) == owner(**controlled("a"))


def test_an_owner_that_does_not_control_a_pod_makes_no_podset() -> None:
    assert owner() == owner(**controlled("a", controller=False))


def test_all_jobs_of_a_replicated_job_are_one_podset() -> None:
    labels = {
        "jobset.sigs.k8s.io/jobset-name": "set",
        "jobset.sigs.k8s.io/replicatedjob-name": "workers",
    }
    leader = {**labels, "jobset.sigs.k8s.io/replicatedjob-name": "leader"}

    workers = {owner(labels=labels, **controlled(uid)) for uid in ("a", "b")}

    assert 1 == len(workers)
    assert owner(labels=leader, **controlled("a")) not in workers


@pytest.mark.parametrize("key", ["training.kubeflow.org/replica-type", "kueue.x-k8s.io/podset"])
def test_templates_of_one_controller_are_podsets_of_their_own(key: str) -> None:
    master, worker = (owner(labels={key: each}, **controlled("a")) for each in ("master", "worker"))

    assert master != worker


# What is wrong.


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            {"required-topology": RACK, "preferred-topology": BLOCK},
            (
                f"{field('preferred-topology')} must be absent with {PREFIX}required-topology "
                f'(it is "{BLOCK}")'
            ),
        ),
        (
            {"required-topology": RACK, "unconstrained-topology": "true"},
            (
                f"{field('unconstrained-topology')} must be absent with "
                f'{PREFIX}required-topology (it is "true")'
            ),
        ),
        (
            {"preferred-topology": RACK, "unconstrained-topology": "false"},
            (
                f"{field('unconstrained-topology')} must be absent with "
                f'{PREFIX}preferred-topology (it is "false")'
            ),
        ),
        (
            {"unconstrained-topology": "yes"},
            f'{field("unconstrained-topology")} must be true or false, not "yes"',
        ),
        (
            {"slice-required-topology": RACK},
            f"{field('slice-size')} is required with {PREFIX}slice-required-topology",
        ),
        (
            {"slice-size": "4"},
            f"{field('slice-required-topology')} is required with {PREFIX}slice-size",
        ),
        (
            {"slice-size": "4", **listed(entry(RACK, 4))},
            f'{field("slice-size")} must be absent with {PREFIX}{SLICES} (it is "4")',
        ),
        (
            {"slice-required-topology": RACK, **listed(entry(RACK, 4))},
            (
                f"{field('slice-required-topology')} must be absent with {PREFIX}{SLICES} "
                f'(it is "{RACK}")'
            ),
        ),
        ({"group-name": ""}, f"{field('group-name')} must not be empty"),
    ],
)
def test_what_contradicts_itself_is_named(given: dict[str, str], problem: str) -> None:
    assert problem == problem_of(given)


@pytest.mark.parametrize(
    "key", ["required-topology", "preferred-topology", "slice-required-topology"]
)
@pytest.mark.parametrize("text", ["", " ", "a b", "rack/", "a/b/c", "层", "x" * 64, "\udc80"])
def test_what_is_no_key_of_a_label_is_named(key: str, text: str) -> None:
    problem = problem_of({key: text, **({"slice-size": "4"} if "slice" in key else {})})

    assert problem.startswith(f"{field(key)} must be the key of a node label, not ")


@pytest.mark.parametrize(
    "text", ["", "0", "-4", "4.0", "four", "4 ", "+4", "1_0", "0x4", "\u0664", "9" * 5000]
)
def test_a_size_that_is_no_number_is_named(text: str) -> None:
    problem = problem_of({"slice-required-topology": RACK, "slice-size": text})

    assert problem.startswith(f"{field('slice-size')} must be a whole number of at least 1, not ")


@pytest.mark.parametrize(
    ("text", "path", "problem"),
    [
        ("", "", 'must be JSON, not ""'),
        (f'[{{"topology": "{RACK}", "size": 4}},]', "", "must be JSON, not "),
        ("[" * 100_000, "", "must be JSON, not "),
        ("{}", "", "must be a list, not {}"),
        ("null", "", "is required"),
        ("[]", "", "must have at least one entry, not []"),
        (
            json.dumps([entry(f"l{i}", 1) for i in range(4)]),
            "",
            "must have at most 3 entries, not 4",
        ),
        ("[3]", "[0]", "must be an object, not 3"),
        (
            '[{"topology": "a", "topology": "b"}]',
            "",
            'must not have a field twice (it has "topology" twice)',
        ),
    ],
)
def test_a_list_of_slices_that_is_none_is_named(text: str, path: str, problem: str) -> None:
    assert problem_of({SLICES: text}).startswith(f"{field(SLICES)}{path} {problem}")


@pytest.mark.parametrize(
    ("wrong", "path", "problem"),
    [
        (entry(None, 4), ".topology", "is required"),
        (entry("", 4), ".topology", "must not be empty"),
        (entry(["rack"], 4), ".topology", 'must be a string, not ["rack"]'),
        (entry("a b", 4), ".topology", 'must be the key of a node label, not "a b"'),
        (entry(BLOCK, 4), ".topology", f'must be listed once, not "{BLOCK}"'),
        (entry(RACK, None), ".size", "is required"),
        (entry(RACK, "4"), ".size", 'must be a whole number, not "4"'),
        (entry(RACK, 4.0), ".size", "must be a whole number, not 4.0"),
        (entry(RACK, 0), ".size", "must be at least 1, not 0"),
        (entry(RACK, -4), ".size", "must be at least 1, not -4"),
        (entry(RACK, 10**12), ".size", "must be at most 2147483647, not 1000000000000"),
        (entry(RACK, 5), ".size", "must divide the size above it, which is 16, not 5"),
        (entry(RACK, 32), ".size", "must divide the size above it, which is 16, not 32"),
        (entry(RACK, 4, mode="x"), "", 'must have no fields but topology and size, not "mode"'),
    ],
)
def test_what_is_wrong_with_a_slice_is_named(wrong: Any, path: str, problem: str) -> None:
    found = problem_of(listed(entry(BLOCK, 16), wrong))

    assert f"{field(SLICES)}[1]{path} {problem}" == found


def test_a_bad_podset_is_the_problem_of_its_gang() -> None:
    podsets_found = (None, PodSet(), PodSet(problem="it is bad"))
    metadata = Metadata(namespace="default", name="c")

    expected = Problem(Reason.INVALID_SPEC, InvalidInput("pod default/c: it is bad"))
    found = [pod.problem_of(metadata, gang_key("g"), (), each) for each in podsets_found]
    assert [None, None, expected] == found


@pytest.mark.parametrize("key", ["index", "color", "required-topology-"])
def test_what_is_not_known_is_not_ignored(key: str) -> None:
    found = pod_decode.pod(pod_body(metadata={"annotations": {PREFIX + key: "x"}}))

    assert (None, (field(key),)) == (found.podset, found.pod_class.unsupported)


def test_what_is_known_is_supported() -> None:
    keys = ["required-topology", "slice-required-topology", "slice-size", SLICES, "group-name"]
    spec = {"gang.scheduling.koordinator.sh/network-topology-spec": "{}"}
    present = {**{PREFIX + key: "x" for key in keys}, **spec}

    assert () == pod_decode.pod(pod_body(metadata={"annotations": present})).pod_class.unsupported


def test_all_that_is_wrong_is_said_at_once() -> None:
    given = {
        "required-topology": "a b",
        "preferred-topology": RACK,
        "unconstrained-topology": "maybe",
        "group-name": "",
        "slice-size": "x",
    }

    names = [
        *("preferred-topology", "unconstrained-topology", "unconstrained-topology"),
        *("required-topology", "slice-required-topology", "slice-size", "group-name"),
    ]
    assert [field(name) for name in names] == [each.split(" ")[0] for each in found(given)]


def test_all_that_is_wrong_with_slices_is_said_at_once() -> None:
    given = {**listed(entry("", 0), entry(RACK, 4, more=1), entry(RACK, 3)), "slice-size": "2"}

    paths = [field("slice-size")]
    paths += [f"{field(SLICES)}{each}" for each in ("[0].topology", "[0].size", "[1]")]
    paths += [f"{field(SLICES)}[2].{each}" for each in ("topology", "size")]
    assert paths == [each.split(" ")[0] for each in found(given)]


def found(given: dict[str, str]) -> list[str]:
    return problem_of(given).split("; ")
