"""The gangs of PodGroups that were made for a workload are known by it."""

from gang_scheduler.model.refs import GangKey
from gang_scheduler.state.gangs.workloads import MadeFor
from support.builders import gang_key

JOB, OTHER = GangKey("PyTorchJob", "default", "a"), GangKey("PyTorchJob", "default", "b")


def test_a_gang_is_known_by_the_workload_of_its_object_until_it_says_another() -> None:
    made_for = MadeFor()
    made_for.upsert(gang_key("a"), JOB)
    made_for.upsert(gang_key("a"), JOB)
    assert ({gang_key("a")}, JOB) == (made_for.of(JOB), made_for.workload_of(gang_key("a")))

    made_for.upsert(gang_key("a"), OTHER)
    assert ((), {gang_key("a")}) == (made_for.of(JOB), made_for.of(OTHER))

    made_for.upsert(gang_key("a"), None)
    made_for.forget(gang_key("a"))
    assert ((), None) == (made_for.of(OTHER), made_for.workload_of(gang_key("a")))
