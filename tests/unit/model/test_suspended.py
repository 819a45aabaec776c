"""What a plan says of the suspended workloads that may start."""

from dataclasses import replace

from gang_scheduler.model.gangs import Gang
from gang_scheduler.model.plan import Placed, Plan
from gang_scheduler.model.suspended import ManagedWorkload, Suspended
from support.builders import gang


def of_workload(name: str, uid: str) -> Gang:
    workload = ManagedWorkload("JobSet", "default", f"workload-{uid}", uid)
    return replace(gang(name), suspended=Suspended(workload))


def test_gangs_of_one_workload_are_one_admission() -> None:
    driver, workers, other = (
        Placed(of_workload("driver", "1"), ()),
        Placed(of_workload("workers", "1"), ()),
        Placed(of_workload("other", "2"), ()),
    )

    plan = Plan((driver, other, Placed(gang("with-pods"), ()), workers))

    assert ((driver, workers), (other,)) == plan.admissions


def test_a_workload_is_called_as_in_messages() -> None:
    assert "Job default/a" == str(ManagedWorkload("Job", "default", "a", "uid-1"))
