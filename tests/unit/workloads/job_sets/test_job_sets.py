"""A TrainJob needs its JobSet in the input."""

from support.expansion import TEMPLATE, Body, notes_on, pods_made

TRAIN_JOB: Body = {
    "kind": "TrainJob",
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "metadata": {"name": "t"},
    "spec": {"runtimeRef": {"name": "torch"}},
}
JOB_SET: Body = {
    "kind": "JobSet",
    "apiVersion": "jobset.x-k8s.io/v1alpha2",
    "metadata": {"name": "t"},
    "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": TEMPLATE}}}]},
}


def test_a_train_job_without_its_job_set_is_noted() -> None:
    expected = (
        "TrainJob t runs as a JobSet that its controller makes of its runtime: the input has no "
        "JobSet t, so it has no pods here"
    )

    assert [expected] == notes_on(TRAIN_JOB)
    assert {} == pods_made(TRAIN_JOB)


def test_a_train_job_has_the_pods_of_its_job_set() -> None:
    assert [] == notes_on(TRAIN_JOB, JOB_SET)
    assert ["t-node-0-0"] == [*pods_made(TRAIN_JOB, JOB_SET)]
