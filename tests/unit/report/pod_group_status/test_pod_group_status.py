"""Where a gang is, and what is wrong with it though it holds nothing up, on its PodGroup."""

from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.conditions import Finding
from gang_scheduler.model.causes.gangs import NodeFault, NominationLost
from gang_scheduler.model.causes.specs import UnknownLayers
from gang_scheduler.model.plan import Bind, Placed, Plan, Refused, Warned
from gang_scheduler.model.pods import Pod, PodPhase
from gang_scheduler.model.queues import QueueKind, QueueRef
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import ChargedTo
from gang_scheduler.model.topology import Domain
from gang_scheduler.report.pod_group_status import View, native_status_of, status_of
from gang_scheduler.report.queues.gang_texts import Place
from gang_scheduler.report.words.text import text_of
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from gang_scheduler.state.gangs.gang_info import GangInfo
from gang_scheduler.state.gangs.phases import nodes_of
from support import applying, builders, cache_feeding
from support.degraded_gang import LATER, SIZE, DegradedGang
from support.gang_queue_builders import gang_info

KEY = builders.gang_key("a")
STRANGE = Problem(Reason.UNKNOWN_LAYER, UnknownLayers(("spineLayer",)))
LOST = NominationLost("n1", NodeFault.GONE)


def written(info: GangInfo, view: View) -> dict[str, Any]:
    assert info.observed.spec is not None
    return status_of(info, info.observed.spec, view)


def condition(info: GangInfo, present: list[dict[str, Any]] | None = None) -> dict[str, str] | None:
    """Return the condition on unknown layers without the moments, if there is one."""
    found = written(info, View({"conditions": present or []}, now=7))["conditions"]
    kept = ("status", "reason", "message")
    named = ({key: each[key] for key in kept} for each in found if each["type"] == "UnknownLayer")
    return next(named, None)


def record_of(*members: Pod, warnings: tuple[Problem, ...] | None = None) -> GangInfo:
    info = gang_info(KEY, members, [builders.gang_spec("a")])
    if warnings is not None:
        info.verdict.placed(None)
    for each in warnings or ():
        info.verdict.warn(each)
    return info


def cache_of(*members: Pod, minimum: int = 1) -> Cache:
    cache = Cache([builders.SCHEDULER], Changes())
    spec = builders.gang_spec("a", minimum)
    assert spec.gvr is not None
    cache_feeding.upsert_gang_specs(cache, spec.gvr.group, spec.uid, [spec])
    for each in members:
        cache.upsert_pod(each)
    return cache


def decide(cache: Cache, plan: Plan) -> None:
    """Note the decisions of a cycle, as the loop does."""
    applying.take_in(cache, plan, 1000, applying.WritesNothing())


def domain_written(domain: Domain | None) -> str | None:
    found: str | None = written(record_of(), View({}, now=0, domain=domain))["domain"]
    return found


def test_the_domain_is_its_layer_and_its_path() -> None:
    domain = Domain("BlockLayer", ("spine-1", "block-2"))

    assert "BlockLayer/spine-1/block-2" == domain_written(domain)


def test_the_whole_cluster_is_no_domain() -> None:
    # Null removes what is written already.
    assert domain_written(None) is None


def test_a_gang_is_where_its_living_members_are() -> None:
    members = [
        builders.pod("a-0", node="n1"),
        builders.pod("a-1", node="n2"),
        builders.pod("a-2"),
        builders.pod("a-3", node="n3", phase="Failed"),
    ]

    assert {"n1", "n2"} == nodes_of(record_of(*members))


def test_a_gang_is_nowhere_before_a_member_is_known_to_be_somewhere() -> None:
    members = [builders.pod(f"a-{i}", gang="a") for i in range(3)]
    cache = cache_of(*members)
    info = cache.gang_queue.infos[KEY]

    found = [nodes_of(info)]
    for member in members:
        cache.assume(Bind(member, f"n-{member.name}"))
    found.append(nodes_of(info))
    for member in members:
        cache.upsert_pod(builders.pod(member.name, gang="a", node=f"n-{member.name}"))
        found.append(nodes_of(info))

    # Not one node after the other: the domain is written once.
    whole = {"n-a-0", "n-a-1", "n-a-2"}
    assert [set(), set(), whole, whole, whole] == found


def test_a_warning_is_a_condition() -> None:
    expected = {"status": "True", "reason": "UnknownLayer", "message": text_of(STRANGE.cause)}
    assert expected == condition(record_of(warnings=(STRANGE,)))


def test_warnings_of_one_kind_are_one_condition() -> None:
    other = Problem(Reason.UNKNOWN_LAYER, UnknownLayers(("rack",)))
    found = condition(record_of(warnings=(STRANGE, other)))

    assert found is not None
    assert f"{text_of(STRANGE.cause)}; {text_of(other.cause)}" == found["message"]


@pytest.mark.parametrize("warnings", [None, ()])
def test_without_a_warning_there_is_no_condition(warnings: tuple[Problem, ...] | None) -> None:
    assert condition(record_of(warnings=warnings)) is None


def test_what_is_no_longer_so_is_said_where_it_was_said() -> None:
    present = [{"type": "UnknownLayer", "status": "True", "reason": "UnknownLayer"}]

    expected = {"status": "False", "reason": "Resolved", "message": ""}
    assert expected == condition(record_of(warnings=()), present)


def test_before_the_first_try_what_was_said_stands() -> None:
    spec = {"type": "UnknownLayer", "status": "True", "reason": "UnknownLayer", "message": "it"}

    expected = {"status": "True", "reason": "UnknownLayer", "message": "it"}
    assert expected == condition(record_of(warnings=None), [spec])


def test_the_same_condition_tells_of_a_layer_that_holds_a_gang_up() -> None:
    cache = cache_of(builders.pod("a-0", gang="a"))
    waits = builders.gang("a")
    refused = Refused(waits, STRANGE.reason, waits.pending, cause=STRANGE.cause)
    decide(cache, Plan(refused=(refused,)))

    expected = {"status": "True", "reason": "UnknownLayer", "message": text_of(STRANGE.cause)}
    assert expected == condition(cache.gang_queue.infos[KEY])


def test_a_warning_lasts_until_the_next_verdict() -> None:
    cache = cache_of(builders.pod("a-0", gang="a"))
    gang = builders.gang("a")
    placed = Placed(gang, (Bind(gang.pending[0], "n1"),))
    warned = Plan(placed=(placed,), warned=(Warned(gang, STRANGE), Warned(gang, STRANGE)))
    info = cache.gang_queue.infos[KEY]

    found = [info.verdict.warnings]
    for plan in (warned, Plan(), Plan(placed=(placed,))):
        decide(cache, plan)
        found.append(info.verdict.warnings)

    assert [None, (STRANGE,), (STRANGE,), ()] == found


def test_a_bound_gang_with_other_options_is_not_warned_any_more() -> None:
    cache = cache_of(builders.pod("a-0", gang="a", node="n1"))
    info = cache.gang_queue.infos[KEY]
    found = []
    for spec in (builders.gang_spec("a", 2), builders.gang_spec("a", 2, strict=False)):
        decide(cache, Plan(warned=(Warned(builders.gang("a"), STRANGE),)))
        cache_feeding.upsert_gang_specs(cache, "scheduling.sigs.k8s.io", spec.uid, [spec])
        found.append(info.verdict.warnings)

    assert [(STRANGE,), ()] == found


# Preemption.


def of_preemption(info: GangInfo, view: View) -> dict[str, tuple[str, str, str]]:
    """Return the conditions on preemptions: status, reason and message by type."""
    return {
        each["type"]: (each["status"], each["reason"], each["message"])
        for each in written(info, view)["conditions"]
        if each["type"] in {"Preempting", "Preempted", "RoomLost"}
    }


def preempting() -> GangInfo:
    info = record_of(builders.pod("a-0"))
    info.verdict.placed(None)
    info.preemptor.begin(7, ("uid-x", "uid-y"), "SpineLayer/s1")
    return info


def test_a_gang_that_room_is_made_for_says_in_which_domain() -> None:
    expected = ("True", "WaitingForVictims", "2 pods make room in SpineLayer/s1")
    assert {"Preempting": expected} == of_preemption(preempting(), View({}, now=7))


def test_room_that_was_lost_is_reported_with_its_cause() -> None:
    view = View({}, now=7, room_lost=LOST)

    expected = ("True", "Unschedulable", "node n1 is gone")
    assert expected == of_preemption(preempting(), view)["RoomLost"]


def test_when_the_gang_is_bound_all_of_that_is_over() -> None:
    spec = [{"type": each, "status": "True"} for each in ("Preempting", "Preempted", "RoomLost")]
    info = record_of(builders.pod("a-0", node="n1"))

    found = of_preemption(info, View({"conditions": spec}, now=7, room_lost=LOST))

    assert dict.fromkeys(("Preempting", "Preempted", "RoomLost"), ("False", "Scheduled", "")) == (
        found
    )


def test_what_was_said_before_a_restart_stands_until_the_gang_is_tried() -> None:
    spec = {"type": "Preempting", "status": "True", "reason": "it", "message": "was so"}
    info = record_of(builders.pod("a-0"))

    found = of_preemption(info, View({"conditions": [spec]}, now=7))

    assert {"Preempting": ("True", "it", "was so")} == found


def test_a_gang_that_no_cycle_has_come_to_says_so_and_not_that_it_is_being_bound() -> None:
    def said(info: GangInfo) -> str:
        found = written(info, View({}, now=7))["conditions"]
        return str(next(each["message"] for each in found if each["type"] == "Scheduled"))

    info = record_of(builders.pod("a-0", gang="a"))
    before = said(info)
    info.verdict.placed(None)

    assert before.endswith("was not tried yet: others come before it")
    assert "members are being bound" == said(info)


def test_a_victim_says_which_gang_took_its_members() -> None:
    info = record_of(builders.pod("a-0"))
    info.preempted.begin("default/high")

    words = "members were evicted to make room for default/high"
    expected = ("True", "PreemptionByScheduler", words)
    assert expected == of_preemption(info, View({}, now=7))["Preempted"]


@pytest.mark.parametrize(
    ("job", "phase", "again"),
    [
        ("x", "Pending", "its Job creates pods again after its backoff"),
        ("", "Failed", "no controller creates them again"),
    ],
)
def test_a_victim_has_failed_only_if_no_job_creates_its_members_again(
    job: str, phase: str, again: str
) -> None:
    pod = builders.pod("a-0", gang="a", node="n", job=job)
    cache = cache_of(pod)
    cache.decisions.preempted(KEY, "p1/p1")
    cache.upsert_pod(replace(pod, phase=PodPhase.FAILED))

    found = written(cache.gang_queue.infos[KEY], View({}, now=7))

    assert phase == found["phase"]
    (scheduled,) = (each for each in found["conditions"] if each["type"] == "Scheduled")
    words = f"0 of minMember 1 members exist: evicted for p1/p1; {again}"
    assert ("WaitingForMembers", words) == (scheduled["reason"], scheduled["message"])


def test_a_native_victim_says_so_in_the_condition_of_kubernetes() -> None:
    info = record_of(builders.pod("a-0"))
    info.preempted.begin("default/high")
    assert info.observed.spec is not None

    status = native_status_of(info, info.observed.spec, View({}, now=7))

    found = {each["type"]: each["status"] for each in status["conditions"]}
    assert {"DisruptionTarget": "True"} == found


def test_a_gang_of_a_failed_job_is_not_said_to_wait_for_members() -> None:
    cache = cache_of(builders.pod("a-0", gang="a", job="x"), minimum=2)
    cache.gang_queue.job_failed("uid-x", KEY)
    cache.delete_pod("uid-a-0")

    found = written(cache.gang_queue.infos[KEY], View({}, now=7))

    assert "Failed" == found["phase"]
    (scheduled,) = (each for each in found["conditions"] if each["type"] == "Scheduled")
    assert ("False", "JobFailed") == (scheduled["status"], scheduled["reason"])


def test_a_gang_whose_failed_job_is_deleted_waits_for_members_again() -> None:
    cache = cache_of(minimum=2)
    cache.gang_queue.job_failed("uid-x", KEY)
    cache.gang_queue.changed.clear()

    cache.gang_queue.job_gone("uid-x")

    assert {KEY} == cache.gang_queue.changed
    assert "Pending" == written(cache.gang_queue.infos[KEY], View({}, now=7))["phase"]


TEAM_A = QueueRef(QueueKind.QUEUE, "team-a")


def quota_reserved(info: GangInfo, view: View) -> dict[str, str] | None:
    found = written(info, view)["conditions"]
    return next((each for each in found if each["type"] == "QuotaReserved"), None)


def waiting() -> GangInfo:
    info = record_of(builders.pod("a-0", gang="a"))
    gang = info.as_gang(frozenset({builders.SCHEDULER}))
    info.verdict.note(Refused(gang, Reason.WAITING_FOR_QUOTA, gang.pending))
    return info


def test_without_queues_a_status_says_nothing_of_them() -> None:
    info = record_of(builders.pod("a-0", gang="a", node="n"))

    assert written(info, View({}, now=0))["queue"] is None
    assert quota_reserved(info, View({}, now=0)) is None


def test_a_gang_that_waits_has_its_place_in_the_queue() -> None:
    found = written(waiting(), View({}, now=0, queue=TEAM_A, place=Place(3, 7)))["queue"]

    assert {"name": "team-a", "position": 3, "pending": 7, "reason": "WaitingForQuota"} == found


def test_a_gang_that_does_not_wait_has_no_place() -> None:
    info = record_of(builders.pod("a-0", gang="a", node="n"))
    # The place was told while the gang waited.
    found = written(info, View({}, now=0, queue=TEAM_A, place=Place(1, 1)))["queue"]

    assert {"name": "team-a", "position": 0, "pending": 0, "reason": ""} == found


@pytest.mark.parametrize("pod", [{"node": "n"}, {"nominated": "n"}])
def test_a_gang_that_is_charged_has_reserved_quota(pod: dict[str, Any]) -> None:
    info = record_of(builders.pod("a-0", gang="a", **pod))
    found = quota_reserved(info, View({}, now=0, queue=TEAM_A))

    assert found is not None
    assert ("True", "charged to queue team-a") == (found["status"], found["message"])


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (Reason.WAITING_FOR_QUOTA, True),
        (Reason.WAITING_FOR_TURN, True),
        (Reason.QUOTA_EXCEEDED, True),
        (Reason.JOB_LIMIT_REACHED, True),
        (Reason.QUEUE_STOPPED, True),
        (Reason.UNSCHEDULABLE, False),
    ],
)
def test_a_gang_that_is_charged_says_why_its_other_members_wait_for_quota(
    reason: Reason, *, told: bool
) -> None:
    info = record_of(builders.pod("a-0", gang="a", node="n"), builders.pod("a-1", gang="a"))
    gang = info.as_gang(frozenset({builders.SCHEDULER}))
    info.verdict.note(Refused(gang, reason, gang.pending, left_over=True))

    found = quota_reserved(info, View({}, now=0, queue=TEAM_A))

    assert found is not None
    assert "True" == found["status"]
    assert (f"others wait ({reason})" in found["message"]) is told


def test_the_flavors_of_bindings_are_reported() -> None:
    flavors = (("cpu", "spot"), ("nvidia.com/gpu", "a100"))
    pod = replace(builders.pod("a-0", gang="a", node="n"), charged_to=ChargedTo("q", flavors))
    found = quota_reserved(record_of(pod), View({}, now=0, queue=TEAM_A))

    words = "charged to queue team-a: cpu in spot, nvidia.com/gpu in a100"
    assert found is not None
    assert words == found["message"]


def test_quota_that_was_never_reserved_is_not_reported() -> None:
    assert quota_reserved(waiting(), View({}, now=0, queue=TEAM_A)) is None


@pytest.mark.parametrize(("queue", "reason"), [(TEAM_A, "WaitingForQuota"), (None, "NoQueue")])
def test_quota_that_was_given_back_is_reported(queue: QueueRef | None, reason: str) -> None:
    before = {"conditions": [{"type": "QuotaReserved", "status": "True"}]}
    found = quota_reserved(waiting(), View(before, now=0, queue=queue))

    assert found is not None
    assert ("False", reason) == (found["status"], found["reason"])


def test_an_eviction_is_reported_until_the_gang_is_whole_again() -> None:
    evicted = Finding("Evicted", status=True, reason="Reclaim", message="1st eviction: for b")
    view = View({}, now=7, evictions={"count": 1}, evicted=evicted)
    info = record_of(builders.pod("a-0", gang="a"))
    info.preempted.begin("b")

    status = written(info, view)
    assert {"count": 1} == status["evictions"]
    (told,) = (each for each in status["conditions"] if each["type"] == "Evicted")
    assert ("True", "Reclaim") == (told["status"], told["reason"])

    whole = record_of(builders.pod("a-0", gang="a", node="n1"))
    after = written(whole, replace(view, written=status))
    (told,) = (each for each in after["conditions"] if each["type"] == "Evicted")
    assert ("False", "Scheduled") == (told["status"], told["reason"])


def test_the_status_of_a_gang_that_was_never_evicted_has_no_evictions() -> None:
    status = written(record_of(), View({}, now=7))

    assert "evictions" not in status
    assert "Evicted" not in {each["type"] for each in status["conditions"]}


def test_a_degraded_gang_has_a_condition_that_ends_with_it() -> None:
    made = DegradedGang()
    made.fails(1)
    info = made.cache.gang_queue.infos[KEY]

    told = written(info, View({}, now=LATER, degraded=made.found(LATER)))["conditions"]
    made.heals(1)
    healed = written(info, View({"conditions": told}, now=LATER))["conditions"]

    assert [("True", "NodesFailed"), ("False", "Whole")] == [
        (each["status"], each["reason"])
        for each in (*told, *healed)
        if each["type"] == "DegradedDomain"
    ]


def test_what_an_earlier_process_wrote_of_a_degraded_gang_stands_while_members_lack() -> None:
    made = DegradedGang()
    made.gone(1)
    present = [{"type": "DegradedDomain", "status": "True", "reason": "NodesFailed"}]

    found = written(made.cache.gang_queue.infos[KEY], View({"conditions": present}, now=LATER))

    assert present == [each for each in found["conditions"] if each["type"] == "DegradedDomain"]


def test_the_status_says_that_a_gang_is_evicted_whole_to_start_again() -> None:
    made = DegradedGang()
    made.cache.decisions.preempted(KEY, str(KEY))
    for number in range(SIZE):
        made.gone(number)
    info = made.cache.gang_queue.infos[KEY]
    info.settle(LATER)

    found = written(info, View({}, now=LATER))["conditions"]

    (told,) = [each for each in found if each["type"] == "Preempted"]
    assert ("True", "DegradedDomain") == (told["status"], told["reason"])
    assert "their domain had no room" in told["message"]
    (scheduled,) = [each for each in found if each["type"] == "Scheduled"]
    assert "evicted with its whole gang" in scheduled["message"]


@pytest.mark.parametrize(
    "reason",
    [
        *(Reason.WAITING_FOR_QUOTA, Reason.UNSCHEDULABLE, Reason.WAITING_FOR_TURN),
        *(Reason.WAITING_FOR_VICTIMS, Reason.JOB_LIMIT_REACHED, Reason.WAITING_FOR_VOLUMES),
        *(Reason.ADMISSION_DENIED, Reason.QUEUE_STOPPED, Reason.WAITING_FOR_CHECKS),
        Reason.SCATTERED,
    ],
)
def test_a_started_gang_says_why_members_wait_that_it_has_lost(reason: Reason) -> None:
    runs = builders.pod("a-0", gang="a", node="n")
    lost = builders.pod("a-1", gang="a")
    spec = replace(builders.gang_spec("a", 2), was_scheduled=True)
    info = gang_info(KEY, [runs, lost], [spec])
    info.attempt.take_over(spec)
    gang = info.as_gang(frozenset({builders.SCHEDULER}))
    info.verdict.note(Refused(gang, reason, gang.pending))

    found = written(info, View({}, now=7))["conditions"]
    (said,) = [each for each in found if each["type"] == "Scheduled"]

    assert "True" == said["status"]
    assert said["message"].startswith(f"1 members have a node; others wait ({reason}): ")
