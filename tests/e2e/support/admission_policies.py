"""The admission policies of the chart, as it makes them for a cluster."""

import subprocess
from typing import Final

from tools import controlplane
from tools.chart import CHART
from tools.controlplane import binaries

VALUES: Final = (
    "image.repository=registry.example.com/py-gang-scheduler",
    "admissionPolicies.validate=true",
    "admissionPolicies.suspend=true",
    "admissionPolicies.bindings=true",
)


def rendered(plane: controlplane.ControlPlane, namespace: str, *kinds: str) -> str:
    """Return the policies for these kinds that this cluster gets, for one namespace alone."""
    selector = r"admissionPolicies.namespaceSelector.matchLabels.kubernetes\.io/metadata\.name"
    managed = f"settings.manageJobs={{{','.join(kinds)}}}"
    values = (*VALUES, managed, f"{selector}={namespace}")
    done = subprocess.run(
        [
            *(binaries.find("helm"), "template", "py-gang-scheduler", str(CHART)),
            *("--dry-run=server", "--namespace=gang-system", f"--kubeconfig={plane.kubeconfig}"),
            "--show-only=templates/admissionpolicies.yaml",
            *(f"--set={each}" for each in values),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
