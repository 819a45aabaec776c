"""The faults, by family: a module for each.

fault       Fault: a name, a begin and an end
killing     replicas end, at any time and at any write
replicas    replicas stand still, or lead with an old view
network     connections, answers and events
servers     API server and etcd
rights      RBAC
crds        CRDs removed and installed
clocks      wall clocks stepped
versions    from the last release to this one, and back
"""

from tools.chaos.faults import (
    clocks,
    crds,
    killing,
    network,
    replicas,
    rights,
    servers,
    versions,
)
from tools.chaos.faults.fault import Fault as Fault

ALL: tuple[type[Fault], ...] = (
    *killing.FAULTS,
    *replicas.FAULTS,
    *network.FAULTS,
    *servers.FAULTS,
    *rights.FAULTS,
    *crds.FAULTS,
    *clocks.FAULTS,
    *versions.FAULTS,
)
BY_NAME = {each.name: each for each in ALL}
FAMILIES = {
    "killing": killing.FAULTS,
    "replicas": replicas.FAULTS,
    "network": network.FAULTS,
    "servers": servers.FAULTS,
    "rights": rights.FAULTS,
    "crds": crds.FAULTS,
    "clocks": clocks.FAULTS,
    "versions": versions.FAULTS,
}
