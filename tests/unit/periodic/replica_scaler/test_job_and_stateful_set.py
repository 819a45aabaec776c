"""Workloads in mode `Replicas` get as many replicas as there is room for, and no write too many."""

import json
from typing import Any

import pytest

from gang_scheduler.api.kinds import AUTOSCALERS, JOBS
from gang_scheduler.apply.workloads.replicas import MOST_A_MINUTE
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import Call, Fault
from gang_scheduler.model.rules import NO_SETTINGS
from gang_scheduler.model.wording import rfc3339
from gang_scheduler.periodic.replica_scaler import LARGEST_PART, MOST_TRIALS, _Known
from gang_scheduler.scheduler.elastic_pace import CONTEST_SECONDS, VAIN_SECONDS
from support.builders import gang_key
from support.replicas import STATE, ReplicasCluster, asked, job, stateful_set
from support.suspended_jobs import our_queue

pytestmark = pytest.mark.looptime


def cluster(
    cpu: int = 8, pods: int = 4, annotation: str = "", *, indexed: bool = True
) -> ReplicasCluster:
    """Return a Job of 2 to 8 workers that runs."""
    made = ReplicasCluster(cpu)
    made.start(job(pods, annotation or asked(2, 8, up=60, step=2), indexed=indexed))
    return made


async def test_it_grows_by_a_step_when_the_cooldown_has_passed_and_there_is_room() -> None:
    town = cluster()

    assert 4 == await town.look(later=30)
    assert 6 == await town.look(later=40)
    assert [0, 1, 2, 3, 4, 5] == town.running
    assert 6 == await town.look(later=30)
    assert 8 == await town.look(later=40)
    assert 8 == await town.look(later=400)


async def test_each_change_is_one_patch_of_the_field_its_completions_and_the_annotation() -> None:
    town = cluster()
    before = town.now_of_job["metadata"]["resourceVersion"]
    await town.look(later=70)

    (patch,) = town.patches()
    assert {"parallelism": 6, "completions": 6} == patch["spec"]
    assert (before, town.now_of_job["metadata"]["uid"]) == (
        patch["metadata"]["resourceVersion"],
        patch["metadata"]["uid"],
    )
    said = {"workers": 6, "at": rfc3339(town.now), "why": "RoomFree"}
    assert said == json.loads(patch["metadata"]["annotations"][STATE])
    assert [
        ("ReplicasChanged", "From 4 to 6 replicas: there is room for more workers")
    ] == town.said.notes


async def test_completions_that_are_others_are_left_alone() -> None:
    town = cluster(indexed=False)

    assert 6 == await town.look(later=70)
    assert 100 == town.now_of_job["spec"]["completions"]


async def test_fewer_than_a_step_are_added_only_to_reach_the_maximum() -> None:
    town = cluster(cpu=5)
    assert 4 == await town.look(later=70)

    town.annotate(asked(2, 5, up=60, step=2))
    assert 5 == await town.look(later=70)


async def test_nothing_is_read_for_a_gang_that_keeps_its_size() -> None:
    town = cluster(cpu=5)
    for _ in range(10):
        await town.look(later=60)

    assert [] == [each.method for each in town.api.calls]


async def test_a_gang_at_its_minimum_that_lacks_members_is_not_read_again_and_again() -> None:
    town = cluster(cpu=4, pods=2, annotation=asked(2, 8, up=3600))
    town.room(1)
    town.gone(next(name for _, name in town.pods))
    town.control()
    for _ in range(5):
        await town.look(later=60)

    assert (2, 1, []) == (town.replicas, town.waiting, [each.method for each in town.api.calls])


async def test_where_members_have_ended_well_growth_is_tried_once_a_minute() -> None:
    town = cluster(cpu=8, annotation=asked(2, 8))
    town.controlled = False
    town.end(next(name for _, name in town.pods), "Succeeded")
    for _ in range(60):
        await town.look(later=5)

    reads = [each.method for each in town.api.calls].count("get")
    assert (4, True) == (town.replicas, 4 <= reads <= 6)


async def test_few_trials_are_made_in_one_look() -> None:
    town = cluster(cpu=8)
    town.scaler._trials = MOST_TRIALS
    known = town.scaler._known.setdefault("other", _Known())
    key = next(iter(town.cache.gang_queue.infos))

    assert not town.scaler._has_room(key, known, 2, town.now + 70)
    assert 0 == known.not_before


def test_namespaces_take_turns_and_in_each_the_gang_that_was_tried_longest_ago() -> None:
    scaler = cluster().scaler
    found = {f"a{number}": gang_key(f"g{number}", "a") for number in range(40)}
    found |= {f"{name}0": gang_key("g0", name) for name in "bc"}
    scaler._known["a0"] = _Known(not_before=10)
    scaler._last = "a"

    order = [uid for uid, _ in scaler._in_turns(found)]

    assert ["b0", "c0", "a1"] == order[:3]
    assert "a0" == order[-1]
    assert found.keys() == {*order}


async def test_trials_take_a_small_part_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    town = cluster(cpu=8)
    seconds, trials = [0.0], []

    def fits(*_: object) -> bool:
        seconds[0] += 0.1
        trials.append(1)
        return True

    town.scaler._timer = lambda: seconds[0]
    monkeypatch.setattr(town.scaler, "_fits", fits)
    monkeypatch.setattr(town.resizer, "autoscaler_of", refused)
    for _ in range(100):
        await town.look(later=60)
        seconds[0] += 1

    assert 45 <= len(trials) <= 100 * LARGEST_PART / 0.1 + 1


async def refused(*_: object) -> str:
    """Answer that autoscalers cannot be listed for the moment."""
    raise ApiError(503, "later")


async def test_no_room_is_looked_for_while_no_change_may_be_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    town = cluster(cpu=8)
    town.resizer._lately.extend([town.now + 60.0] * MOST_A_MINUTE)
    monkeypatch.delattr(town.scaler.__class__, "_fits")

    assert 4 == await town.look(later=70)
    assert [] == town.api.calls


async def test_it_does_not_grow_into_room_that_another_gang_waits_for() -> None:
    town = cluster(cpu=8)
    town.gang("other", 6)

    assert 4 == await town.look(later=70)
    for index in range(6):
        town.gone(f"other-{index}")
    assert 6 == await town.look(later=20)


async def test_it_grows_though_a_gang_waits_that_could_use_none_of_the_room() -> None:
    town = cluster(cpu=8)
    town.gang("other", 2)
    for index in range(2):
        town.change(f"other-{index}", spec={"nodeSelector": {"gpu": "yes"}})

    assert 6 == await town.look(later=70)


async def test_those_that_wait_in_vain_from_the_start_go_after_two_minutes() -> None:
    town = cluster(cpu=5, pods=8)
    assert ([0, 1, 2, 3, 4], 3) == (town.running, town.waiting)

    assert 8 == await town.look(later=VAIN_SECONDS - 20)
    assert 5 == await town.look(later=30)
    assert ([0, 1, 2, 3, 4], 0) == (town.running, town.waiting)
    assert 1 == len(town.patches())


async def test_it_never_goes_below_the_minimum() -> None:
    town = cluster(cpu=4, pods=4)
    for name in [each for _, each in town.pods][1:]:
        town.gone(name)
    town.room(1)
    town.control()
    town.cycle()

    assert 2 == await town.look(later=VAIN_SECONDS + 10)
    assert ([0], 1) == (town.running, town.waiting)
    assert 2 == await town.look(later=VAIN_SECONDS + 10)
    assert 1 == len(town.patches())


async def test_more_that_found_no_room_after_all_is_tried_again_after_twice_as_long() -> None:
    town = cluster(cpu=8, annotation=asked(2, 8, up=60, step=2))
    town.controlled = False
    assert 6 == await town.look(later=70)
    town.room(4)
    town.controlled = True
    town.control()

    assert 6 == await town.look(later=60)
    assert 4 == await town.look(later=VAIN_SECONDS)
    assert 1 == json.loads(town.now_of_job["metadata"]["annotations"][STATE])["vain"]
    town.room(8)
    assert 4 == await town.look(later=110)
    assert 6 == await town.look(later=20)


@pytest.mark.parametrize("indexed", [True, False])
async def test_what_a_preemption_has_taken_is_not_created_again(*, indexed: bool) -> None:
    town = cluster(cpu=6, pods=6, indexed=indexed)
    town.cycle(later=30)
    town.pod("urgent-0", spec={"priority": 10})
    town.pod("urgent-1", spec={"priority": 10})
    town.cycle()

    assert 4 == await town.look(later=5)
    assert (4, 0) == (len(town.running), town.waiting)
    assert ("ReplicasChanged", "From 6 to 4 replicas: a gang of higher priority took the room") in (
        town.said.notes
    )


async def test_the_number_of_a_user_is_the_new_base_and_the_cooldown_begins_again() -> None:
    town = cluster()
    assert 6 == await town.look(later=70)
    await town.look(later=300)
    assert 8 == town.replicas

    town.edit(parallelism=3, completions=3)
    assert 3 == await town.look(later=50)
    assert 5 == await town.look(later=20)
    assert 3 == len(town.patches())


@pytest.mark.parametrize("number", [1, 9])
async def test_a_number_outside_of_the_bounds_ends_all_changes(number: int) -> None:
    town = cluster()
    await town.look(later=70)
    town.edit(by="kubectl-scale", parallelism=number, completions=number)
    for _ in range(20):
        assert number == await town.look(later=60)

    bounds = "not between minWorkers 2 and maxWorkers 8"
    note = (
        "spec.parallelism is not changed until the annotation elastic changes: "
        f"it is {number}, {bounds}, last by kubectl-scale"
    )
    assert ("ElasticStopped", note) == town.said.notes[-1]
    assert (1, 2) == (len(town.patches()), len(town.said.notes))


async def test_two_changes_by_others_within_ten_minutes_end_all_changes() -> None:
    town = cluster(annotation=asked(2, 8))
    assert 5 == await town.look(later=40)
    town.edit(by="argocd", parallelism=4, completions=4)
    assert 5 == await town.look(later=40)
    town.edit(by="argocd", parallelism=4, completions=4)
    for _ in range(20):
        assert 4 == await town.look(later=60)
    reason, note = town.said.notes[-1]
    assert "ElasticStopped" == reason
    assert note.endswith("others changed it twice in 10 minutes, last by argocd")

    town.annotate(asked(2, 7))
    assert 5 == await town.look(later=60)


async def test_a_restart_remembers_the_first_of_two_changes_by_others() -> None:
    town = cluster(annotation=asked(2, 8))
    assert 5 == await town.look(later=40)
    town.edit(by="argocd", parallelism=4, completions=4)
    assert 5 == await town.look(later=40)
    assert [rfc3339(town.now - 40)] == state_of(town)["edits"]

    town.restart()
    town.edit(by="argocd", parallelism=4, completions=4)
    assert 4 == await town.look(later=60)
    assert ["ElasticStopped"] == [each for each, _ in town.said.notes if each != "ReplicasChanged"]


async def test_a_restart_forgets_a_change_by_others_that_is_long_over() -> None:
    town = cluster(annotation=asked(2, 8))
    assert 5 == await town.look(later=40)
    town.edit(by="argocd", parallelism=4, completions=4)
    assert 5 == await town.look(later=40)
    town.restart()
    town.now += CONTEST_SECONDS
    town.edit(by="argocd", parallelism=4, completions=4)

    assert 5 == await town.look(later=60)


@pytest.mark.parametrize("is_refused", [False, True])
async def test_a_workload_that_others_change_too_often_stays_left_alone_after_a_restart(
    *, is_refused: bool
) -> None:
    town = cluster(annotation=asked(2, 8))
    for _ in range(2):
        assert 5 == await town.look(later=40)
        town.edit(by="argocd", parallelism=4, completions=4)
    refusal = Fault(ApiError(403, "denied by a webhook"))
    town.api.scripts.append(lambda it: refusal if is_refused and it.method == "patch" else None)
    assert 4 == await town.look(later=40)
    town.api.scripts.clear()
    generation = len(town.patches())
    assert is_refused or "spec" not in town.patches()[-1]

    town.restart()
    again = 5 if is_refused else 4
    assert again == await town.look(later=2 * CONTEST_SECONDS)
    assert (generation + is_refused) == len(town.patches())
    assert is_refused or (4, 5) == (town.replicas, state_of(town)["workers"])

    town.annotate(asked(2, 7))
    assert again + 1 == await town.look(later=60)
    assert "stopped" not in state_of(town)


@pytest.mark.parametrize("edits", ['"x"', '[1, "x"]', '["2999-01-01T00:00:00Z"]', "{}"])
async def test_a_note_of_changes_that_users_have_broken_counts_as_none(edits: str) -> None:
    town = cluster(annotation=asked(2, 8))
    assert 5 == await town.look(later=40)
    with town.api.cluster.changing(JOBS, "default", "train") as found:
        written = json.loads(found["metadata"]["annotations"][STATE])
        found["metadata"]["annotations"][STATE] = json.dumps(
            {**written, "edits": json.loads(edits)}
        )
    town.restart()
    town.edit(by="argocd", parallelism=4, completions=4)

    assert 5 == await town.look(later=60)


def state_of(town: ReplicasCluster) -> dict[str, Any]:
    """Return what the annotation says that was written last."""
    found: dict[str, Any] = json.loads(town.now_of_job["metadata"]["annotations"][STATE])
    return found


async def test_an_autoscaler_that_targets_it_ends_all_changes() -> None:
    town = cluster()
    target = {"apiVersion": "batch/v1", "kind": "Job", "name": "train"}
    metadata = {"name": "load", "namespace": "default"}
    town.api.cluster.put(AUTOSCALERS, {"metadata": metadata, "spec": {"scaleTargetRef": target}})
    for _ in range(5):
        assert 4 == await town.look(later=70)

    ((reason, note),) = town.said.notes
    assert "ElasticStopped" == reason
    assert note.endswith("HorizontalPodAutoscaler load scales it")


async def test_an_autoscaler_of_another_workload_does_not_matter() -> None:
    town = cluster()
    target = {"apiVersion": "batch/v1", "kind": "Job", "name": "other"}
    metadata = {"name": "load", "namespace": "default"}
    town.api.cluster.put(AUTOSCALERS, {"metadata": metadata, "spec": {"scaleTargetRef": target}})

    assert 6 == await town.look(later=70)


async def test_a_change_in_between_is_not_overwritten() -> None:
    town = cluster()

    def edit(call: Call) -> Fault | None:
        if call.method == "patch" and len(town.patches()) == 1:
            town.edit(parallelism=3, completions=3)
        return None

    town.api.scripts.append(edit)

    assert 3 == await town.look(later=70)
    assert [] == town.said.notes


@pytest.mark.parametrize("status", [403, 422])
async def test_a_refusal_is_reported_and_each_next_try_comes_later(status: int) -> None:
    town = cluster()
    refusal = Fault(ApiError(status, "denied by a webhook"))
    town.api.scripts.append(lambda it: refusal if it.method == "patch" else None)
    await town.look(later=70)
    seen = len(town.patches())
    for _ in range(55):
        await town.look(later=1)

    assert seen == len(town.patches())
    reason, note = town.said.notes[-1]
    assert ("ElasticFailed", f"{status}: denied by a webhook; next try in 60 s") == (
        reason,
        note.removeprefix("the number of replicas cannot be changed: "),
    )
    await town.look(later=10)
    assert town.said.notes[-1][1].endswith("next try in 120 s")
    town.api.scripts.clear()
    assert 6 == await town.look(later=130)


@pytest.mark.parametrize("after", [False, True])
async def test_a_change_without_an_answer_is_written_once(*, after: bool) -> None:
    town = cluster()
    town.api.fail("patch", Fault(ApiError(0, "the connection broke"), after=after))

    assert 6 == await town.look(later=70)
    assert 6 == await town.look(later=30)
    assert 2 == len(town.patches())


async def test_a_life_that_begins_between_the_change_and_the_pods_goes_on() -> None:
    town = cluster()
    town.controlled = False
    assert 6 == await town.look(later=70)
    town.restart()
    assert 6 == await town.look(later=10)
    town.controlled = True
    town.control()
    assert 6 == await town.look(later=10)
    assert [0, 1, 2, 3, 4, 5] == town.running

    assert 8 == await town.look(later=70)
    assert 2 == len(town.patches())


async def test_within_thirty_seconds_nothing_is_changed_twice() -> None:
    town = cluster(annotation=asked(2, 8))
    assert 5 == await town.look(later=40)
    assert [5, 5, 6] == [await town.look(later=10) for _ in range(3)]


def of_stateful_set(cpu: int = 8, pods: int = 4) -> ReplicasCluster:
    """Return a StatefulSet of 2 to 8 workers that runs."""
    made = ReplicasCluster(cpu)
    made.start(stateful_set(pods, asked(2, 8, up=60, step=2)))
    return made


async def test_a_stateful_set_grows_by_its_replicas() -> None:
    town = of_stateful_set()

    assert 4 == await town.look(later=30)
    assert 6 == await town.look(later=40)
    assert [0, 1, 2, 3, 4, 5] == town.running
    (patch,) = town.patches()
    assert {"replicas": 6} == patch["spec"]


async def test_a_stateful_set_loses_what_waits_in_vain_and_what_was_preempted() -> None:
    town = of_stateful_set(cpu=6, pods=8)
    assert 6 == await town.look(later=VAIN_SECONDS + 10)

    town.cycle(later=60)
    town.pod("urgent-0", spec={"priority": 10})
    town.cycle()
    assert ([0, 1, 2, 3], 2) == (town.running, town.waiting)
    assert 4 == await town.look(later=5)
    assert ([0, 1, 2, 3], 0) == (town.running, town.waiting)


async def test_an_autoscaler_ends_the_changes_of_a_stateful_set() -> None:
    town = of_stateful_set()
    target = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "train"}
    metadata = {"name": "load", "namespace": "default"}
    town.api.cluster.put(AUTOSCALERS, {"metadata": metadata, "spec": {"scaleTargetRef": target}})

    assert 4 == await town.look(later=70)
    assert ["ElasticStopped"] == [reason for reason, _ in town.said.notes]


async def test_without_the_setting_the_gang_does_not_start_and_says_why() -> None:
    town = ReplicasCluster(8, NO_SETTINGS.workloads)
    town.api.cluster.put(JOBS, job(4, asked(2, 8)))

    reason, message = town.waits("train", later=5)
    assert "UnsupportedFeature" == reason
    assert "needs the setting elasticKinds of the scheduler to list Job" in message


async def test_without_the_setting_a_gang_that_runs_gets_its_losses_replaced() -> None:
    town = ReplicasCluster(8, NO_SETTINGS.workloads)
    body = job(4, asked(2, 8, mode="Bind"))
    town.start(body)
    town.annotate(asked(2, 8))
    town.gone(next(name for _, name in town.pods))
    town.control()
    town.cycle(later=5)

    assert [0, 1, 2, 3] == town.running


async def test_it_grows_only_within_the_quota_of_its_queue() -> None:
    town = ReplicasCluster(8)
    town.put(our_queue("team", cpu=6))
    town.start(job(4, asked(2, 8, step=2), labels={"py-gang-scheduler.io/queue": "team"}))

    assert 6 == await town.look(later=40)
    assert 6 == await town.look(later=40)
    assert ([0, 1, 2, 3, 4, 5], 0) == (town.running, town.waiting)


async def test_a_suspended_or_ended_job_is_left_alone() -> None:
    town = cluster()
    town.edit(suspend=True)

    assert 4 == await town.look(later=70)
    assert [] == town.patches()


async def test_no_more_than_twenty_are_changed_in_a_minute() -> None:
    town = cluster()
    town.resizer._lately.extend([town.now + 70.0] * 20)

    assert 4 == await town.look(later=70)
    assert 6 == await town.look(later=70)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"workers": -1}', '{"workers": 6, "at": "x"}'])
async def test_a_note_that_users_have_broken_counts_as_none(text: str) -> None:
    town = cluster()
    with town.api.cluster.changing(JOBS, "default", "train") as found:
        found["metadata"]["annotations"][STATE] = text

    assert 6 == await town.look(later=70)


async def test_a_note_of_the_future_counts_as_none() -> None:
    town = cluster()
    with town.api.cluster.changing(JOBS, "default", "train") as found:
        said = {"workers": 4, "at": "2999-01-01T00:00:00Z", "vain": 10**8}
        found["metadata"]["annotations"][STATE] = json.dumps(said)

    assert 6 == await town.look(later=70)
