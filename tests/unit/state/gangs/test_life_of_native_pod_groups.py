"""The life of gangs of native PodGroups."""

from typing import Any

import pytest

from towns import Town, native_body


def native_pods(town: Town, names: list[str], group: str = "g") -> None:
    for name in names:
        town.pod(name, spec={"schedulingGroup": {"podGroupName": group}})


def test_row_native_min_count_is_the_quorum() -> None:
    town = Town()
    town.put(native_body("g", 2))
    native_pods(town, ["p-0"])
    before = town.bound()
    native_pods(town, ["p-1"])

    assert (set(), {"p-0", "p-1"}) == (before, town.bound())


def test_row_native_basic_makes_gangs_of_one() -> None:
    town = Town(1)
    town.put(native_body("g", None))
    native_pods(town, ["p-0", "p-1", "p-2"])

    assert {"p-0"} == town.bound()


def test_row_native_a_pod_group_that_does_not_exist_is_waited_for() -> None:
    town = Town()
    native_pods(town, ["p-0"])
    before = town.waits("g")
    town.put(native_body("g", 1))

    assert ("PodGroupNotFound", 'PodGroup "default/g" does not exist') == before
    assert {"p-0"} == town.bound()


def test_row_native_the_priority_is_that_of_the_pod_group() -> None:
    town = Town(1)
    town.put(native_body("g", 1, priority=10))
    native_pods(town, ["p-0"])
    town.pod("other", spec={"priority": 5})

    assert {"p-0"} == town.bound()


def test_row_native_another_pod_group_of_that_name_is_another_gang() -> None:
    town = Town()
    town.put(native_body("g", 1))
    town.gang("g", 1)
    native_pods(town, ["p-0"])

    assert {"g-0", "p-0"} == town.bound()


def test_of_several_versions_the_best_counts_until_a_source_starts_over() -> None:
    town = Town()
    town.put(native_body("g", 1))
    other = {**native_body("h", 1), "apiVersion": "scheduling.k8s.io/v1alpha2"}
    native_pods(town, ["p-0"], group="h")
    town.put(other)
    ignored = town.bound()
    town.intake.start_over()
    town.put(other)

    assert (set(), {"p-0"}) == (ignored, town.bound())


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        (
            {"schedulingConstraints": {"claims": [{"name": "gpus"}]}},
            "spec.schedulingConstraints.claims",
        ),
        (
            {"schedulingConstraints": {"topology": [{"key": "rack"}, {"key": "row", "skew": 1}]}},
            "spec.schedulingConstraints.topology[1].skew",
        ),
        ({"resourceClaims": [{"name": "gpus"}]}, "spec.resourceClaims"),
        ({"parentCompositePodGroupName": "all"}, "spec.parentCompositePodGroupName"),
    ],
)
def test_row_native_what_is_not_known_is_refused_and_not_ignored(
    spec: dict[str, Any], field: str
) -> None:
    town = Town()
    town.put(native_body("g", 1, **spec))
    native_pods(town, ["p-0"])

    expected = f"{field} cannot be honoured by this scheduler yet"
    assert ("UnsupportedFeature", expected) == town.waits("g")
