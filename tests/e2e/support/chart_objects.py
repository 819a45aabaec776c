"""Objects of the chart, as Helm makes them without a cluster."""

import os
import subprocess
from collections.abc import Iterable
from typing import Final

import yaml

from e2e.support.manifests import Manifest
from tools.chart import CHART
from tools.controlplane import binaries

RELEASE: Final = "py-gang-scheduler"
IMAGE: Final = "image.repository=registry.example.com/a"


def of_templates(templates: Iterable[str], *values: str) -> str:
    """Return the objects of these templates, or of all, for a release with these values."""
    shown = (f"--show-only=templates/{each}.yaml" for each in templates)
    sets = (f"--set={each}" for each in (IMAGE, *values))
    done = subprocess.run(
        [binaries.find("helm"), "template", RELEASE, str(CHART), "--skip-tests", *sets, *shown],
        env={**os.environ, "KUBECONFIG": "/nonexistent"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def cluster_role(ending: str) -> Manifest:
    """Return the ClusterRole whose name ends so."""
    documents: list[Manifest] = [each for each in yaml.safe_load_all(of_templates(())) if each]
    (found,) = (each for each in documents if each["metadata"]["name"].endswith(f":{ending}"))
    return found
