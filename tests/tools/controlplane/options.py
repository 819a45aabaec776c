"""What a control plane is made of: the one record that callers fill in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Options:
    """Choose the components and switches of one control plane; etcd and API server always run.

    kwok                        fake kubelets for all nodes labelled type=kwok
    controller_manager          Jobs, Deployments, garbage collection, namespaces
    kube_scheduler              the stock scheduler, for comparisons and as an oracle
    kube_scheduler_config       its configuration file, in place of the flags for high rates
    native_gangs                the feature gates of the stock gang scheduling, everywhere
    audit                       write creations of pods and of bindings to `audit_log`
    api_priority_and_fairness   False lifts the limits of the API server, for benchmarks
    service_account_admission   True mounts ServiceAccount tokens into pods, as a real cluster does
    pod_complete_seconds        KWOK ends the pods of Jobs after this long; None: they run for ever
    extra_args                  further flags by component name
    start_timeout_seconds       give up on a start after this long
    """

    kwok: bool = True
    controller_manager: bool = True
    kube_scheduler: bool = False
    kube_scheduler_config: Path | None = None
    native_gangs: bool = False
    audit: bool = False
    api_priority_and_fairness: bool = True
    service_account_admission: bool = False
    pod_complete_seconds: float | None = None
    extra_args: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    start_timeout_seconds: float = 60.0

    @property
    def components(self) -> tuple[str, ...]:
        """Name the components that run, in the order they start."""
        optional = {
            "kube-controller-manager": self.controller_manager,
            "kube-scheduler": self.kube_scheduler,
            "kwok": self.kwok,
        }
        return ("etcd", "kube-apiserver", *(name for name, wanted in optional.items() if wanted))
