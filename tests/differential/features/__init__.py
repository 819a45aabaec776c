"""What a cluster may have and a pod may ask, one subject a file."""

from collections.abc import Mapping

from differential.features import amounts, lives, nodes, peers, ports, volumes
from differential.worlds import Feature

EVERY: Mapping[str, Feature] = {
    each.name: each
    for subject in (nodes, amounts, ports, lives, peers, volumes)
    for each in subject.FEATURES
}
