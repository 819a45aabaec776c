"""What the steps of a preemption are made from."""

from gang_scheduler.apply.disruption_target import Naming
from gang_scheduler.apply.evictor import Stages
from gang_scheduler.apply.grace_periods import GracePeriods
from gang_scheduler.apply.outcomes import Outcomes
from gang_scheduler.apply.preemption_run import PreemptionRun
from gang_scheduler.apply.workloads import whole_workloads
from gang_scheduler.client.fake.client import FakeApi
from gang_scheduler.model.plan import Preemption
from gang_scheduler.model.pods import Pod
from gang_scheduler.state.cache import Cache
from gang_scheduler.state.changes import Changes
from support import builders


def taken_back(stages: Stages, victim: Pod) -> list[str]:
    """Return the steps that take back what was written to a victim."""
    run = PreemptionRun(Preemption((), ()), submitted_at=0.0, marked={victim.uid})
    return [step.what for step in stages.releases(run, lambda _: run)]


def test_pods_that_are_gone_take_no_memory() -> None:
    cache = Cache([builders.SCHEDULER], Changes())
    stages = Stages(
        FakeApi(),
        cache,
        naming=Naming(),
        outcomes=Outcomes(),
        grace_periods=GracePeriods(cache),
        use_eviction_api=False,
        managed=whole_workloads.NONE_MANAGED,
        suspend=whole_workloads.suspend_nothing,
        shrinking=None,
        clock=lambda: 0.0,
    )
    victims = [
        builders.pod(f"v-{number}", node="n1", marked_as_victim=True) for number in range(50)
    ]
    for each in victims:
        cache.upsert_pod(each)
        assert ["unmark"] == taken_back(stages, each)
    for each in victims[1:]:
        cache.delete_pod(each.uid)
    stages.forget(())

    assert {victims[0].uid} == stages._unmarked
    assert not stages.is_marked(victims[0])
