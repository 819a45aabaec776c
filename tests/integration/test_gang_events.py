"""Events tell people of decisions: one an object and reason, and not again and again."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from gang_scheduler.api.kinds import EVENTS, JOB_SETS, JOBS, PODS, QUEUES
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.outcomes import GangBinding, Outcome
from gang_scheduler.client.errors import ApiError
from gang_scheduler.client.fake.client import FakeApi, Fault
from gang_scheduler.decode.events import EventHandlers, LeftOut, LeftOutObjects
from gang_scheduler.decode.queues import declared
from gang_scheduler.model import refs
from gang_scheduler.model.bound_pods import BoundPod
from gang_scheduler.model.causes.gangs import ApiAnswer
from gang_scheduler.model.causes.specs import InvalidInput
from gang_scheduler.model.devices import DeviceId
from gang_scheduler.model.plan import Bind, Misfit, Placed, Plan, Preemption, Refused, Warned
from gang_scheduler.model.queues import QueueKind, QueueRef
from gang_scheduler.model.reasons import Problem, Reason
from gang_scheduler.model.refs import GangKey, JobFailures
from gang_scheduler.model.rules import NO_SETTINGS, PreemptionRules, Rules
from gang_scheduler.model.topology import Domain
from gang_scheduler.report import events as report_events
from gang_scheduler.report.administrator_events import LeftOutEvents
from gang_scheduler.report.events import QUEUE_LENGTH, REPEAT_SECONDS, REWORD_SECONDS, About
from gang_scheduler.report.gang_events import GangEvents
from gang_scheduler.report.words.text import text_of
from gang_scheduler.state import kinds
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders, cache_feeding, parts

Told = tuple[str, str, str, str]
"""Type, reason, name of the object, note."""


def unknown(layer: str) -> Problem:
    return Problem(Reason.UNKNOWN_LAYER, InvalidInput(f'layer "{layer}" is unknown'))


class Desk:
    """Reports on the PodGroup `a`. `now` is in seconds."""

    def __init__(self, rules: PreemptionRules = NO_SETTINGS.preemption) -> None:
        self.now = 1000.0
        self.api = FakeApi()
        self.cache = cache = Cache([builders.SCHEDULER], Changes(), Rules(preemption=rules))
        spec = builders.gang_spec("a")
        cache_feeding.upsert_gang_specs(cache, "scheduling.sigs.k8s.io", spec.uid, [spec])
        self.events = parts.events(self.api, lambda: self.now)
        self.gang_events = parts.gang_events(cache, self.events)

    async def told(self, *plans: Plan) -> list[Told]:
        """Report plans, a second apart, and return the Events that come of it."""
        for plan in plans:
            self.gang_events.planned(plan, int(self.now))
            self.now += 1
        while len(self.events._queue):
            await self.events._send(self.events.take())
        return [
            (each["type"], each["reason"], each["regarding"]["name"], each["note"])
            for each in self.api.cluster.all(EVENTS)
        ]


async def test_a_warning_is_an_event_and_not_repeated() -> None:
    plan = Plan(warned=(Warned(builders.gang("a"), unknown("x")),))

    expected = [("Warning", "UnknownLayer", "a", 'layer "x" is unknown')]
    assert expected == await Desk().told(plan, plan, plan)


@pytest.mark.parametrize(("source", "told"), [(refs.POD_GROUP, 0), (refs.SINGLE, 1)])
async def test_an_event_that_each_pod_of_a_gang_gets_is_not_sent_to_one_of_them_before(
    source: refs.GangSource, told: int
) -> None:
    desk = Desk()
    pod_events = parts.pod_events(desk.api, desk.cache)
    desk.gang_events = GangEvents(desk.cache, desk.events, pod_events, Naming())
    pod = builders.pod("x")
    gang = replace(builders.gang("x", members=[pod]), key=GangKey(source.name, "default", "absent"))
    cause = InvalidInput("does not exist")

    events = await desk.told(
        Plan(refused=(Refused(gang, Reason.POD_GROUP_NOT_FOUND, (pod,), cause=cause),))
    )

    assert [("Warning", "FailedScheduling", "x", "does not exist")] * told == events


async def test_warnings_of_one_kind_are_one_event() -> None:
    gang = builders.gang("a")
    plan = Plan(warned=(Warned(gang, unknown("x")), Warned(gang, unknown("y"))))

    expected = [("Warning", "UnknownLayer", "a", 'layer "x" is unknown; layer "y" is unknown')]
    assert expected == await Desk().told(plan)


async def test_a_gang_that_no_object_describes_is_warned_on_its_first_pod() -> None:
    bound = builders.gang("b", pods=0, bound_members=[builders.pod("b-0", node="n1")])
    plan = Plan(warned=(Warned(bound, unknown("x")),))

    assert [("Warning", "UnknownLayer", "b-0", 'layer "x" is unknown')] == await Desk().told(plan)


async def test_an_unknown_layer_that_holds_a_gang_up_is_an_invalid_gang() -> None:
    waits = builders.gang("a")
    problem = unknown("x")
    plan = Plan(refused=(Refused(waits, problem.reason, waits.pending, cause=problem.cause),))

    assert [("Warning", "InvalidGang", "a", text_of(problem.cause))] == await Desk().told(plan)


async def test_a_new_fault_is_reported_at_once_in_other_words() -> None:
    waits = builders.gang("a")
    plans = [
        Plan(
            refused=(Refused(waits, Reason.INVALID_SPEC, waits.pending, cause=InvalidInput(words)),)
        )
        for words in ("mode must be Strict", "minMember must be at most 2")
    ]
    desk = Desk()
    await desk.told(plans[0])
    desk.now += REPEAT_SECONDS / 2
    await desk.told(plans[0])

    told = await desk.told(plans[1])

    assert ["mode must be Strict", "minMember must be at most 2"] == [note for *_, note in told]


TEAM_A = QueueRef(QueueKind.QUEUE, "team-a")


async def test_the_event_of_an_admitted_gang_names_its_flavors() -> None:
    gang = replace(builders.gang("a", pods=2), queue=TEAM_A)
    binds = tuple(Bind(pod, "n1", flavors=(("cpu", "spot"),)) for pod in gang.pending)

    expected = [("Normal", "Admitted", "a", "Admitted by queue team-a: cpu in spot")]
    assert expected == await Desk().told(Plan(placed=(Placed(gang, binds),)))


async def test_a_gang_that_borrows_gets_one_event() -> None:
    gang = replace(builders.gang("a"), queue=TEAM_A)
    plan = Plan(placed=(Placed(gang, (Bind(gang.pending[0], "n1"),), borrows=True),))

    told = await Desk().told(plan, plan)
    assert [("Borrowing", "Queue team-a borrows quota for this gang")] == [
        (reason, note) for _, reason, _, note in told if reason == "Borrowing"
    ]


async def test_without_queues_no_gang_is_admitted() -> None:
    gang = builders.gang("a")

    assert [] == await Desk().told(Plan(placed=(Placed(gang, (Bind(gang.pending[0], "n1"),)),)))


async def test_what_a_queue_can_never_have_is_an_event_of_its_own() -> None:
    waits = replace(builders.gang("a"), queue=TEAM_A)
    refused = Refused(waits, Reason.QUOTA_EXCEEDED, waits.pending, cause=InvalidInput("too much"))

    expected = [("Warning", "QuotaExceeded", "a", "too much")]
    assert expected == await Desk().told(Plan(refused=(refused,)))


async def test_a_gang_in_a_line_is_not_worth_an_event() -> None:
    waits = replace(builders.gang("a"), queue=TEAM_A)
    refused = Refused(waits, Reason.WAITING_FOR_TURN, waits.pending, cause=InvalidInput("behind"))

    assert [] == await Desk().told(Plan(refused=(refused,)))


def full(*rejections: tuple[str, int]) -> Plan:
    """Return a plan that finds no room for the gang, for these reasons."""
    waits = builders.gang("a", pods=2)
    misfit = Misfit(nodes=9, fits=0, needs=2, rejections=rejections)
    return Plan(refused=(Refused(waits, Reason.UNSCHEDULABLE, waits.pending, misfit),))


async def test_why_a_gang_waits_is_reported_in_other_words_after_half_a_minute() -> None:
    desk = Desk()
    for _ in range(REWORD_SECONDS):
        await desk.told(full(("Insufficient cpu", 9)))

    told = await desk.told(full(("Insufficient memory", 9)))

    assert ["Insufficient cpu", "Insufficient memory"] == [
        "Insufficient " + note.partition("Insufficient ")[2].partition(".")[0] for *_, note in told
    ]


async def test_why_a_gang_waits_is_reported_again_in_the_same_words_after_some_minutes() -> None:
    desk = Desk()
    for _ in range(REPEAT_SECONDS + REWORD_SECONDS):
        await desk.told(full(("Insufficient cpu", 9)))

    assert 2 == len(await desk.told())


async def test_nothing_is_reported_of_a_gang_that_waits_as_before() -> None:
    desk, plan = Desk(), full(("Insufficient cpu", 9))
    waits = {each.gang.key for each in plan.refused}

    desk.gang_events.planned(plan, 1000, waits)

    assert [] == await desk.told()
    assert 1 == len(await desk.told(plan))


# Preemption.


def preemption(*victims: BoundPod, domain: Domain | None = None) -> Preemption:
    gang = builders.gang("a")
    return Preemption((gang,), (Bind(gang.pending[0], "n1"),), victims, domain=domain)


def bound_pods(number: int, gang: str = "", **fields: Any) -> list[BoundPod]:
    names = [f"{gang or 'v'}-{i}" for i in range(number)]
    return [builders.bound_pod(name, "n1", gang=gang, **fields) for name in names]


async def test_the_event_of_a_preemptor_says_how_many_pods_leave_and_where() -> None:
    plan = Plan(preemptions=(preemption(*bound_pods(12), domain=Domain("SpineLayer", ("s1",))),))

    names = ", ".join(f"default/v-{i}" for i in range(10))
    note = f"Evicting 12 pods to make room in SpineLayer/s1: {names} and 2 more"
    assert [("Normal", "Preempting", "a", note)] == await Desk().told(plan, plan)


async def test_a_preemptor_without_victims_waits_for_pods_that_leave() -> None:
    note = "Waiting for pods that are terminating to make room"
    found = await Desk().told(Plan(preemptions=(preemption(),)))

    assert [("Normal", "WaitingForRoom", "a", note)] == found


@pytest.mark.parametrize("domain", [None, Domain("SpineLayer", ("s1",))])
async def test_the_pods_that_leave_are_named_wherever_the_gang_gathers(
    domain: Domain | None,
) -> None:
    desk = Desk()
    for name in ("late", "later"):
        desk.cache.upsert_pod(builders.pod(name, node="n1", deleting=True))
    desk.cache.upsert_pod(builders.pod("stays", node="n1"))

    note = "Waiting for pods that are terminating to make room"
    where = " in SpineLayer/s1" if domain is not None else ""
    found = await desk.told(Plan(preemptions=(preemption(domain=domain),)))

    assert [
        ("Normal", "WaitingForRoom", "a", f"{note}{where}: default/late, default/later")
    ] == found


async def test_a_gang_that_only_gives_room_back_preempts_no_pod() -> None:
    given_back = Preemption((builders.gang("a"),), (), displaced=(builders.pod("b-0"),))

    assert [] == await Desk().told(Plan(preemptions=(given_back,)))


async def test_waiting_for_victims_is_no_failure() -> None:
    waits = builders.gang("a")
    plan = Plan(
        refused=(
            Refused(waits, Reason.WAITING_FOR_VICTIMS, waits.pending, cause=InvalidInput("x")),
        )
    )

    assert [] == await Desk().told(plan)


async def test_each_gang_of_victims_gets_one_event_that_names_the_preemptor() -> None:
    desk = Desk()
    desk.gang_events.preempted(preemption(*bound_pods(2, gang="g", owner="default/job")))

    note = "Preempted by default/a: 2 members: g-0, g-1"
    assert [("Normal", "Preempted", "g-0", note)] == await desk.told()


async def test_an_eviction_for_devices_names_the_devices_that_become_free() -> None:
    desk = Desk()
    made = preemption(*bound_pods(2, gang="g", owner="default/job"))
    first, second = (each.pod.uid for each in made.victims)
    on_n0 = [DeviceId("gpu.example.com", "n0", f"gpu-{i}") for i in range(9)]
    on_n1 = [DeviceId("gpu.example.com", "n1", f"gpu-{i}") for i in range(3)]
    frees = {first: tuple(on_n0[:2]), second: (on_n0[0], on_n1[2])}
    desk.gang_events.preempted(replace(made, frees=frees))
    other = Desk()
    other.gang_events.preempted(replace(made, frees={first: (*on_n0, *on_n1)}))

    ((*_, few),), ((*_, many),) = await desk.told(), await other.told()
    expected = ": g-0, g-1; frees gpu.example.com n0/gpu-0, gpu-1; gpu.example.com n1/gpu-2"
    assert few.endswith(expected)
    assert many.endswith("gpu-8; gpu.example.com n1/gpu-0 and 2 more")


async def test_the_event_of_a_preemptor_names_the_devices_that_its_victims_free() -> None:
    desk = Desk()
    made = preemption(*bound_pods(1, gang="g", owner="default/job"))
    frees = {made.victims[0].pod.uid: (DeviceId("gpu.example.com", "n0", "gpu-0"),)}

    ((*_, note),) = await desk.told(Plan(preemptions=(replace(made, frees=frees),)))
    assert note.endswith("; frees gpu.example.com n0/gpu-0")


async def test_the_event_of_a_victim_says_that_no_controller_creates_it_again() -> None:
    desk = Desk()
    (victim,) = bound_pods(1)
    key = victim.pod.gang
    desk.gang_events.preempted(preemption(replace(victim, gang=key)))

    note = "Preempted by default/a; it has no owner: no controller will create it again"
    assert [("Warning", "Preempted", "v-0", note)] == await desk.told()


async def test_a_preemption_that_is_given_up_is_reported_with_the_reason() -> None:
    desk = Desk()
    desk.gang_events.withdrawn(preemption(), ApiAnswer("a budget forbids it"))

    expected = [("Warning", "FailedScheduling", "a", "preemption: given up, a budget forbids it")]
    assert expected == await desk.told()


@pytest.mark.parametrize(
    ("outcomes", "cause", "note"),
    [
        ((Outcome.BOUND, Outcome.REFUSED), "no", "binding failed for 1 of 2 members: no"),
        ((Outcome.WITHOUT_DEVICES,) * 2, "no device", "no device"),
        ((Outcome.WITHOUT_VOLUMES,) * 2, "no claim", "no claim"),
    ],
)
async def test_why_members_are_not_bound_is_reported_in_words(
    outcomes: tuple[Outcome, Outcome], cause: str, note: str
) -> None:
    desk = Desk()
    gang = builders.gang("a", members=[builders.pod(f"a-{i}", gang="a") for i in range(2)])
    binding = GangBinding(Placed(gang, tuple(Bind(each, "n") for each in gang.pending)), "plan")
    for pod, outcome in zip(gang.pending, outcomes, strict=True):
        binding.outcomes[pod.uid] = outcome
    binding.problem = ApiAnswer(cause)
    desk.gang_events.bound(binding)

    (told,) = [each for each in await desk.told() if each[2] == "a"]
    assert ("Warning", "FailedScheduling", "a", note) == told


async def test_what_was_tried_in_vain_is_reported_at_once_after_why_a_gang_waited() -> None:
    desk = Desk()
    desk.gang_events.planned(full(("Insufficient cpu", 9)), 1000)
    desk.gang_events.withdrawn(preemption(), ApiAnswer("a budget forbids it"))
    desk.gang_events.withdrawn(preemption(), ApiAnswer("another budget forbids it"))

    waits, given_up = await desk.told()
    assert "Insufficient cpu" in waits[-1]
    assert "preemption: given up, a budget forbids it" == given_up[-1]


async def test_a_warning_is_reported_at_once_after_other_news_of_the_same_reason() -> None:
    desk = Desk()
    about = About("v1", "Pod", "default", "a-0", "uid-a-0")
    for note, warning in (("Evicting 1 pods", False), ("it hangs", True), ("it still hangs", True)):
        desk.events.record(about, "Preempting", note, warning=warning)

    expected = [
        ("Normal", "Preempting", "a-0", "Evicting 1 pods"),
        ("Warning", "Preempting", "a-0", "it hangs"),
    ]
    assert expected == await desk.told()


async def test_an_event_without_an_answer_is_sent_once_more() -> None:
    desk = Desk()
    desk.api.fail("create_event", Fault(ApiError(0, "the connection was closed")))
    plan = Plan(warned=(Warned(builders.gang("a"), unknown("x")),))

    assert 1 == len(await desk.told(plan))


async def test_an_event_that_is_refused_is_not() -> None:
    desk = Desk()
    desk.api.fail("create_event", Fault(ApiError(403, "its namespace is being deleted")))
    plan = Plan(warned=(Warned(builders.gang("a"), unknown("x")),))

    assert [] == await desk.told(plan)


@pytest.mark.parametrize(("note", "ending"), [("x" * 1025, "x ..."), ("y" * 1024, "yy")])
async def test_a_note_has_no_more_bytes_than_kubernetes_takes(note: str, ending: str) -> None:
    desk = Desk()
    about = About("v1", "Pod", "default", "a-0", "uid-a-0")
    desk.events.record(about, "Scheduled", note)
    desk.events.record(about, "Preempted", "\u00e9" * 600)

    (*_, short), (*_, wide) = await desk.told()

    assert (1024, True) == (len(short), short.endswith(ending))
    assert "\u00e9" * 510 + " ..." == wide


async def test_an_event_that_waits_has_no_body_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, made = Desk(), list[str]()
    monkeypatch.setattr(report_events, "event_of", lambda about, *_, **__: made.append(about.name))
    desk.events.record(About("v1", "Pod", "default", "a", "uid-a"), "R", "n", warning=True)
    before = [*made]

    desk.events.take().body()

    assert ([], ["a"]) == (before, made)


async def test_of_too_many_events_the_oldest_are_dropped() -> None:
    desk = Desk()
    for number in range(QUEUE_LENGTH + 1):
        about = About("v1", "Pod", "default", f"a-{number}", f"uid-a-{number}")
        desk.events.record(about, "Scheduled", "It is on n1")

    told = await desk.told()

    assert [f"a-{number}" for number in range(1, QUEUE_LENGTH + 1)] == [
        name for _, _, name, _ in told
    ]


def left_out_events(desk: Desk, left_out: LeftOutObjects) -> LeftOutEvents:
    return LeftOutEvents(left_out, desk.events, desk.cache.schedulers)


async def test_an_object_with_a_name_gets_an_event_on_its_faults_whatever_else_it_has() -> None:
    desk = Desk()
    why = InvalidField("metadata.labels", 5, "must be an object")

    left_out = LeftOutObjects()
    telling = asyncio.create_task(left_out_events(desk, left_out).run())

    named = {"metadata": {"name": "a", "namespace": 3, "uid": ["u"]}}
    for obj in (named, {}, {"metadata": None}, {"metadata": "a"}, {"metadata": {"name": 5}}):
        left_out.put(LeftOut("Pod", obj, why))
    await asyncio.sleep(0)
    telling.cancel()

    note = "left out: metadata.labels must be an object, not 5"
    assert [("Warning", "FailedScheduling", "a", note)] == await desk.told()


async def test_an_object_that_is_never_scheduled_is_reported_as_invalid() -> None:
    desk, left_out = Desk(), LeftOutObjects()
    why = InvalidField("spec.weight", "2", "must be a number")
    obj = {"metadata": {"name": "q", "uid": "u"}}
    holds = declared.unreadable_queue(QueueKind.QUEUE, QUEUES)(obj, why, None)

    left_out_events(desk, left_out).tell(LeftOut("Queue", obj, why, holds))
    node = {"metadata": {"name": "n", "uid": "v"}}
    left_out_events(desk, left_out).tell(LeftOut("Node", node, why))

    wrong = 'spec.weight must be a number, not "2"'
    assert [
        ("Warning", "InvalidSpec", "q", f"not active: {wrong}"),
        ("Warning", "InvalidSpec", "n", f"left out: {wrong}"),
    ] == await desk.told()


@pytest.mark.parametrize(
    ("spec", "events"),
    [
        ({"schedulerName": builders.SCHEDULER}, 0),
        ({"schedulerName": "another"}, 1),
        ({"schedulerName": builders.SCHEDULER, "schedulingGates": [{"name": "x"}]}, 1),
        ({"schedulerName": builders.SCHEDULER, "nodeName": "n"}, 1),
    ],
    ids=["waits", "of another scheduler", "gated", "on a node"],
)
async def test_a_pod_that_waits_with_a_fault_gets_only_the_event_of_the_verdict(
    spec: dict[str, Any], events: int
) -> None:
    desk, left_out = Desk(), LeftOutObjects()
    pods = EventHandlers(kinds.sinks(desk.cache), left_out).of(PODS)
    metadata = {"name": "x", "namespace": "ns", "uid": "u", "resourceVersion": "1"}
    wrong = {"metadata": metadata, "spec": {**spec, "containers": 3}}
    pods.handle({"type": "ADDED", "object": wrong})

    for each in left_out.take_all():
        left_out_events(desk, left_out).tell(each)

    assert events == len(await desk.told())


# Jobs.


def of_job(name: str, gang: str = "a", **fields: Any) -> Plan:
    """Return that a gang waits which has a pod of a Job."""
    waiting = builders.gang(gang, members=[builders.pod(f"{name}-0", gang=gang, job=name)])
    waiting = replace(waiting, **fields)
    return Plan(refused=(Refused(waiting, Reason.WAITING_FOR_MEMBERS, waiting.pending),))


async def test_a_job_that_one_eviction_ends_gets_one_event_with_the_fields_to_write() -> None:
    desk = Desk()
    desk.cache.evictable_pods.upsert_job("uid-x", JobFailures(8, 6))
    desk.cache.evictable_pods.upsert_job("uid-y", JobFailures(8, None))

    ((kind, reason, name, note),) = await desk.told(of_job("x"), of_job("x"), of_job("y"))

    assert ("Warning", "UnprotectedJob", "x") == (kind, reason, name)
    assert "its 8 pods fail together, and more than 6 failures end it" in note
    assert "{action: Ignore, onPodConditions: [{type: DisruptionTarget" in note
    assert note.endswith("or raise its backoffLimit by 2")
    desk.now += REPEAT_SECONDS
    assert 1 == len(await desk.told(of_job("x")))


def placed(name: str) -> Plan:
    """Return that a gang has a place which has a pod of a Job."""
    pod = builders.pod(f"{name}-0", gang="a", job=name)
    return Plan(placed=(Placed(builders.gang("a", members=[pod]), (Bind(pod, "n1"),)),))


async def test_a_job_that_comes_after_its_pods_were_placed_gets_the_event() -> None:
    desk = Desk()
    before = await desk.told(placed("x"), Plan())
    desk.cache.evictable_pods.upsert_job("uid-x", JobFailures(8, 6))

    found = await desk.told(Plan(), Plan())

    assert ([], [("UnprotectedJob", "x")]) == (before, [each[1:3] for each in found])


async def test_a_job_that_was_protected_when_its_pods_were_placed_gets_no_event_later() -> None:
    desk = Desk()
    cache_feeding.upsert_gang_specs(desk.cache, JOBS.name, "uid-x", [])
    await desk.told(placed("x"), Plan())
    desk.cache.evictable_pods.upsert_job("uid-x", JobFailures(8, 6))

    assert [] == await desk.told(Plan())


async def test_a_job_set_gets_one_event_for_all_of_its_jobs() -> None:
    desk = Desk()
    for name in "xy":
        desk.cache.evictable_pods.upsert_job(f"uid-{name}", JobFailures(8, 6))
    key = GangKey(refs.JOB_SET.name, builders.NAMESPACE, "set/workers")
    spec = replace(builders.gang_spec("a"), key=key, gvr=JOB_SETS)
    cache_feeding.upsert_gang_specs(desk.cache, JOB_SETS.name, spec.uid, [spec])

    found = await desk.told(of_job("x", key=key), of_job("y", key=key))

    assert [("UnprotectedJob", "set")] == [(reason, name) for _, reason, name, _ in found]


async def test_each_gang_of_a_job_set_has_events_of_its_own() -> None:
    desk = Desk()
    names = ("set/driver", "set/workers")
    keys = [GangKey(refs.JOB_SET.name, builders.NAMESPACE, name) for name in names]
    specs = [replace(builders.gang_spec("a"), key=key, gvr=JOB_SETS) for key in keys]
    cache_feeding.upsert_gang_specs(desk.cache, JOB_SETS.name, specs[0].uid, specs)
    gangs = [replace(builders.gang("a"), key=key) for key in keys]

    reason = Reason.WAITING_FOR_VOLUMES
    for gang in gangs:
        desk.gang_events.waits_for_claims(gang, reason, InvalidInput(f"of {gang.key}"))
    # One of them again.
    desk.gang_events.waits_for_claims(gangs[0], reason, InvalidInput(f"still of {gangs[0].key}"))

    expected = [("set", f"of {key}") for key in keys]
    assert expected == [(name, note) for _, _, name, note in await desk.told()]


@pytest.mark.parametrize(
    "rules", [PreemptionRules(preemption=False), PreemptionRules(preempt_unprotected_jobs=False)]
)
async def test_without_evictions_of_jobs_no_job_gets_an_event(rules: PreemptionRules) -> None:
    desk = Desk(rules)
    desk.cache.evictable_pods.upsert_job("uid-x", JobFailures(8, 6))

    assert [] == await desk.told(of_job("x"))


async def test_pods_of_a_job_that_are_no_gang_get_no_event() -> None:
    desk = Desk()
    desk.cache.evictable_pods.upsert_job("uid-x", JobFailures(8, 6))
    alone = GangKey(refs.SINGLE.name, builders.NAMESPACE, "x-0")

    assert [] == await desk.told(of_job("x", key=alone))


async def test_an_event_of_another_namespace_does_not_wait_behind_those_of_one() -> None:
    desk = Desk()
    for number in range(QUEUE_LENGTH + 50):
        desk.events.record(
            About("v1", "Pod", "crowd", f"a-{number}", f"uid-{number}"), "R", "n", warning=True
        )
    desk.events.record(About("v1", "Pod", "calm", "b", "uid-b"), "R", "n", warning=True)

    first = [desk.events.take().body()["regarding"] for _ in range(2)]

    assert ("calm", "b") in [(each["namespace"], each["name"]) for each in first]
    # What one namespace has too many of costs no other one its Events.
    for number in range(QUEUE_LENGTH):
        about = About("v1", "Pod", "crowd", f"c-{number}", f"uid-c-{number}")
        desk.events.record(about, "R", "n", warning=True)
        if not number:
            calm = About("v1", "Pod", "calm", "d", "uid-d")
            desk.events.record(calm, "R", "n", warning=True)
    assert "d" in [desk.events.take().body()["regarding"]["name"] for _ in range(2)]
    assert len(desk.events._queue) <= QUEUE_LENGTH
