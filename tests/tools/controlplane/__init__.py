"""A real control plane without containers, shared by the demo, the e2e tests and the benchmarks.

    plane = controlplane.start(controlplane.Options(audit=True))
    plane.nodes(1000)
    plane.kubectl("apply", "-f", "gang.yaml")

The map, from the outside in:

    options         Options: which components, which switches
    plane           start() and ControlPlane: components started, awaited, restarted, measured
    cluster         Cluster: what is true of any cluster (kubectl, requests, fake nodes)
    backends        open_cluster(): ours, an existing one or kind, by environment variables
    background      up, status and down, for `python -m tools.controlplane`
    scheduler       Scheduler: our operator as one more component
    repeated_calls  what is done to a cluster again and again, such as a stand-in's work
    watcher         Watcher: an independent witness of pods, for tests
    wholeness       its judgement: gangs that were bound only in part
    audit           rates and waiting times from the audit log

    components      the command line of each component, and the ports
    processes       the owner's side of
    supervise       the process that ends all components with their owner
    directories     temporary directories that tell whether their owner lives
    credentials     keys, tokens and kubeconfig files
    access          an HTTP client for the API server
    nodes           fake nodes
    stages          how KWOK plays the kubelets
    binaries        find the programs: assets, PATH, our cache, or
    builds          a build with Go from the modules below binaries/
    errors          what can go wrong
"""

from tools.controlplane.backends import open_cluster as open_cluster
from tools.controlplane.cluster import Cluster as Cluster
from tools.controlplane.errors import ComponentDied as ComponentDied
from tools.controlplane.errors import ControlPlaneError as ControlPlaneError
from tools.controlplane.options import Options as Options
from tools.controlplane.plane import ControlPlane as ControlPlane
from tools.controlplane.plane import start as start
from tools.controlplane.scheduler import Scheduler as Scheduler
from tools.controlplane.watcher import Watcher as Watcher
