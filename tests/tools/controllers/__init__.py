"""The real controllers of jobs, as processes beside a control plane.

    with controllers.running(plane, "training-operator", "--gang-scheduler-name=mine"):
        plane.kubectl("apply", "-f", "pytorchjob.yaml")

    table         CONTROLLERS: a row a controller, and its command line
    controller    Controller: CRDs, process and webhooks, each to be had and to be lost
    manifests     CRDs and webhooks as the controller's own Go module has them
    webhooks      certificates, and a way from the API server to a bare process

Their programs are built, and kept, as those of the control plane: see `tools.controlplane.builds`.
"""

from tools.controllers.controller import Controller as Controller
from tools.controllers.controller import running as running
from tools.controllers.table import CONTROLLERS as CONTROLLERS
