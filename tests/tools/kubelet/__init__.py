"""A stand-in for kubelets that runs the one container of a pod as a process of this machine.

    with kubelet.running(plane) as kubelets:
        plane.nodes(2, labels=kubelet.LABELS)

KWOK leaves nodes with these labels alone. A pod that is bound to one gets its variables, its files
and its end as from a kubelet: SIGTERM on deletion, SIGKILL after the grace period, and what it left
as termination message in its status.

The members of a headless Service are all on this machine, so their host names are 127.0.0.1, and
a claim is a directory of its name, which all pods share.

What is not as in a container: the process has the root directory of this machine. So where the
path of a mount stands in the command or a variable, that of the real directory is put in its place,
and a program that has such a path as a default is told the real one by a variable of `places`.

    standin       Kubelets: looks at all pods again and again, and does the next step of each
    containers    the process of a pod, from its start to its end
    variables     the variables of a container, with fields of the pod in them
    volumes       the files of a container: of ConfigMaps, of the pod itself, and shared ones
    statuses      what a kubelet writes in the status of a pod
    logs          what containers write, for `kubectl logs`
"""

from tools.kubelet.standin import LABELS as LABELS
from tools.kubelet.standin import PLACES as PLACES
from tools.kubelet.standin import Kubelets as Kubelets
from tools.kubelet.standin import running as running
