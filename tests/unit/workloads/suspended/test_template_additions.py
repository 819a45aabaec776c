"""What flavors add to templates, and what is left of it afterwards."""

import copy
from typing import Any

import pytest

from gang_scheduler.api.annotations import ADMITTED_FROM
from gang_scheduler.model.nodes import Toleration
from gang_scheduler.model.suspended import TemplateEdit
from gang_scheduler.workloads import suspended

PATH = ("spec", "template")
SPOT = TemplateEdit(PATH, (("pool", "spot"),), (Toleration("spot", "Exists", "", "NoSchedule"),))
WRITTEN = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}


def job(**pod: Any) -> dict[str, Any]:
    return {"metadata": {}, "spec": {"suspend": True, "template": {"spec": pod}}}


def pod_of(document: Any) -> dict[str, Any]:
    found: dict[str, Any] = document["spec"]["template"]["spec"]
    return found


def added(document: dict[str, Any], *edits: TemplateEdit) -> dict[str, Any]:
    """Return the workload with additions, and with the annotation that says them."""
    document = copy.deepcopy(document)
    text = suspended.add_to_template(document, edits)
    document["metadata"]["annotations"] = {ADMITTED_FROM: text} if text else {}
    return document


def test_labels_and_tolerations_come_beside_what_the_user_wrote() -> None:
    own = {"key": "own", "operator": "Exists"}

    found = added(job(nodeSelector={"disk": "ssd"}, tolerations=[own]), SPOT)

    assert {
        "nodeSelector": {"disk": "ssd", "pool": "spot"},
        "tolerations": [own, WRITTEN],
    } == pod_of(found)


def test_what_is_there_already_is_not_added() -> None:
    document = job(nodeSelector={"pool": "spot"}, tolerations=[WRITTEN])

    assert suspended.add_to_template(document, [SPOT]) == ""
    assert job(nodeSelector={"pool": "spot"}, tolerations=[WRITTEN]) == document


@pytest.mark.parametrize(
    "pod",
    [
        {},
        {"nodeSelector": {"disk": "ssd"}},
        {"nodeSelector": {"pool": "any", "disk": "ssd"}},
        {"tolerations": [{"key": "own", "operator": "Exists"}]},
        {"nodeSelector": {"pool": "spot"}, "tolerations": [WRITTEN]},
    ],
)
def test_taking_out_gives_back_what_the_user_wrote(pod: dict[str, Any]) -> None:
    found = suspended.without_additions(added(job(**pod), SPOT))

    assert pod == pod_of(found)


def test_what_a_user_has_changed_since_stays() -> None:
    changed = added(job(), SPOT)
    pod_of(changed)["nodeSelector"]["pool"] = "mine"
    pod_of(changed)["tolerations"] = [{"key": "mine", "operator": "Exists"}]

    found = suspended.without_additions(changed)

    assert {
        "nodeSelector": {"pool": "mine"},
        "tolerations": [{"key": "mine", "operator": "Exists"}],
    } == pod_of(found)


def test_a_workload_without_additions_is_the_same_object() -> None:
    document = job()

    assert document is suspended.without_additions(document)


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"path": 3}]', '[{"path": ["spec", "gone"]}]'])
def test_an_annotation_that_cannot_be_read_takes_nothing_out(text: str) -> None:
    document = job(nodeSelector={"pool": "spot"})
    document["metadata"]["annotations"] = {ADMITTED_FROM: text}

    assert {"nodeSelector": {"pool": "spot"}} == pod_of(suspended.without_additions(document))


def test_templates_in_lists_have_their_index_in_the_path() -> None:
    first, second = (job(nodeSelector={"disk": name}) for name in ("a", "b"))
    document = {"metadata": {}, "spec": {"jobs": [first["spec"], second["spec"]]}}

    found = added(document, TemplateEdit(("spec", "jobs", 1, "template"), (("pool", "spot"),)))

    assert [{"disk": "a"}, {"disk": "b", "pool": "spot"}] == [
        each["template"]["spec"]["nodeSelector"] for each in found["spec"]["jobs"]
    ]


def test_a_template_that_is_gone_is_named() -> None:
    with pytest.raises(LookupError, match=r"spec\.jobs\.1\.template"):
        suspended.add_to_template(job(), [TemplateEdit(("spec", "jobs", 1, "template"))])
