"""Pods that misspell the name of a PodGroup are found by it, and it by them."""

from collections.abc import Iterable

import pytest

from gang_scheduler.model import refs
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.refs import GangKey
from gang_scheduler.report import missing_members
from gang_scheduler.report.missing_members import MOST_COMPARED, NearNames
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders, cache_feeding

KEY = builders.gang_spec("train", 2).key


def found(pods: Iterable[Pod], *groups: str) -> NearNames:
    cache = Cache([builders.SCHEDULER], Changes())
    for name in groups:
        spec = builders.gang_spec(name, 2)
        cache_feeding.upsert_gang_specs(cache, "group", spec.uid, [spec])
    for each in pods:
        cache.upsert_pod(each)
    return NearNames(cache.gang_queue.infos.values())


def said(*gangs: str) -> str:
    pods = [builders.pod(f"p-{i}", gang=gang) for i, gang in enumerate(gangs)]
    return missing_members.text_of(found(pods, "train").members_meant_for(KEY))


@pytest.mark.parametrize("name", ["trian", "Train", "train-", "tr-ain", "trains", "t-r-a-i-n"])
def test_pods_that_name_a_like_one_are_found(name: str) -> None:
    expected = f'pod p-0 names PodGroup "{name}", which does not exist: is this one meant?'
    assert expected == said(name)


@pytest.mark.parametrize("name", ["serve", "t", "train"])
def test_pods_that_name_this_or_another_one_are_not(name: str) -> None:
    assert "" == said(name)


def test_of_many_pods_some_are_named() -> None:
    assert said(*["trian"] * 5).startswith("pods p-0, p-1, p-2 and 2 more name")


def test_a_name_that_exists_is_no_misspelling() -> None:
    assert () == found([builders.pod("p", gang="trian")], "train", "trian").members_meant_for(KEY)


def test_the_pod_group_without_members_is_found_by_the_name_of_the_pods() -> None:
    key = KEY._replace(name="trian")
    near = found([builders.pod("p", gang="trian")], "train", "serve")

    info = near.without_members(key)

    assert info is not None
    assert KEY == info.key
    assert near.without_members(key._replace(namespace="other")) is None


def test_names_of_another_source_are_none_of_it() -> None:
    near = found([builders.pod("p", gang="trian")], "train")

    assert () == near.members_meant_for(GangKey(refs.NATIVE.name, *KEY.called))


def test_of_very_many_names_none_is_compared() -> None:
    pods = [builders.pod(f"p-{i}", gang=f"trian-{i}") for i in range(MOST_COMPARED + 1)]

    assert () == found(pods, "train").members_meant_for(KEY)


@pytest.mark.parametrize("name", ["train-pg", "train-7", "my-train", "Train-7"])
def test_a_name_with_a_part_more_is_one_that_may_be_meant(name: str) -> None:
    near = found([builders.pod("p", gang=name)], "train")

    assert ["p"] == [pod.name for pod in near.members_meant_for(KEY)]
    info = near.without_members(KEY._replace(name=name))
    assert info is not None
    assert KEY == info.key


def test_of_several_names_with_a_part_more_the_shortest_is_meant() -> None:
    pods = [
        builders.pod(name, gang=name)
        for name in ("train-and-serve-2", "train-again-2", "train-again-1")
    ]

    assert ["train-again-1"] == [pod.name for pod in found(pods, "train").members_meant_for(KEY)]


def test_pods_of_a_job_that_is_called_as_the_pod_group_are_found_by_it() -> None:
    pods = [builders.pod(f"p-{i}", gang="all-of-it", job="train") for i in range(2)]
    near = found(pods, "train")

    said = missing_members.text_of(near.members_meant_for(KEY))

    which = 'PodGroup "all-of-it", which does not exist: is this one meant?'
    assert f"pods p-0, p-1 of Job train name {which}" == said
    info = near.without_members(KEY._replace(name="all-of-it"))
    assert info is not None
    assert KEY == info.key
