"""Where each kind of workload that can be suspended says that it is, and how it is served."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from gang_scheduler.api import kinds
from gang_scheduler.api.kinds import GVR

Path = tuple[str, ...]
_PLAIN: Final = ("spec", "suspend")
_OF_KUBEFLOW: Final = ("spec", "runPolicy", "suspend")


class SuspendField(NamedTuple):
    """A kind of workload. `versions` are those in which it may be served, best first.

    `path` is that of the field. `thaws`: the templates may change in the same write that suspends
    the workload; else only while it is suspended already, and its pods are gone.
    """

    versions: tuple[GVR, ...]
    path: Path = _PLAIN
    thaws: bool = True


SUSPEND_FIELDS: Final[Mapping[str, SuspendField]] = {
    "Job": SuspendField((kinds.JOBS,), thaws=False),
    "JobSet": SuspendField((kinds.JOB_SETS,)),
    "PyTorchJob": SuspendField((kinds.PYTORCH_JOBS,), _OF_KUBEFLOW),
    "TFJob": SuspendField((kinds.TF_JOBS,), _OF_KUBEFLOW),
    "XGBoostJob": SuspendField((kinds.XGBOOST_JOBS,), _OF_KUBEFLOW),
    "PaddleJob": SuspendField((kinds.PADDLE_JOBS,), _OF_KUBEFLOW),
    "JAXJob": SuspendField((kinds.JAX_JOBS,), _OF_KUBEFLOW),
    "MPIJob": SuspendField(kinds.MPI_JOBS, _OF_KUBEFLOW),
    "RayCluster": SuspendField(kinds.RAY_CLUSTERS),
    "RayJob": SuspendField(kinds.RAY_JOBS),
    "TrainJob": SuspendField((kinds.TRAIN_JOBS,)),
}
"""By the kind as in manifests: all that setting `manageJobs` can name."""
