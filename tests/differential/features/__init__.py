"""What a cluster may have and a pod may ask, one subject a file."""

from collections.abc import Mapping

from differential.features import nodes, pod_affinity, pod_lifecycle, ports, resources, volumes
from differential.worlds import Feature

EVERY: Mapping[str, Feature] = {
    each.name: each
    for subject in (nodes, resources, ports, pod_lifecycle, pod_affinity, volumes)
    for each in subject.FEATURES
}
