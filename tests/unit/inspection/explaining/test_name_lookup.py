"""What a NAME stands for."""

import pytest

from gang_scheduler.inspection.explaining.name_lookup import Match, Wanted, find, wanted
from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support.builders import gang_spec, pod


def cache_of(*pods: object, groups: tuple[str, ...] = ()) -> Cache:
    cache = Cache(["py-gang-scheduler"], Changes())
    for name in groups:
        spec = gang_spec(name)
        cache.gang_queue.upsert_gang_specs("PodGroup", spec.uid, [spec])
    for each in pods:
        cache.upsert_pod(each)  # type: ignore[arg-type]
    return cache


@pytest.mark.parametrize(
    ("text", "taken_apart"),
    [
        ("x", Wanted("x", "", "here")),
        ("job/x", Wanted("x", "job", "here")),
        ("Jobs/x", Wanted("x", "job", "here")),
        ("pytorchjob.kubeflow.org/x", Wanted("x", "pytorchjob", "here")),
        ("there/x", Wanted("x", "", "there")),
    ],
)
def test_a_name_may_say_its_kind_or_its_namespace(text: str, taken_apart: Wanted) -> None:
    assert taken_apart == wanted(text, "here")


def test_a_pod_group_comes_before_a_pod_of_its_name() -> None:
    cache = cache_of(pod("x"), groups=("x",))

    assert [Match(GangKey("PodGroup", "default", "x"))] == find(cache, Wanted("x"))
    assert ["pod/default/x"] == [str(each) for each in find(cache, Wanted("x", "pod"))]


def test_a_pod_is_explained_by_its_gang() -> None:
    cache = cache_of(pod("x-0", gang="x"), groups=("x",))

    assert ["podgroup/default/x"] == [str(each) for each in find(cache, Wanted("x-0"))]


def test_a_job_of_which_each_pod_starts_by_itself_is_no_gang() -> None:
    cache = cache_of(pod("x-0", job="x"), pod("x-1", job="x"))

    assert [Match(workload=GangKey("Job", "default", "x"))] == find(cache, Wanted("x", "job"))


def test_a_pod_of_another_scheduler_is_itself() -> None:
    cache = cache_of(pod("x", scheduler="other"))

    (found,) = find(cache, Wanted("x"))

    assert found.pod is not None
    assert found.gang is None


def test_what_is_not_there_is_nothing() -> None:
    assert [] == find(cache_of(), Wanted("x"))
