"""Writes `crds/` from the models: `python -m gang_scheduler.api.crds [--check] DIR...`.

The models are the only place where a field is described. `make crds` runs this for `crds/` and for
the chart's copy; with `--check` nothing is written and the exit status says whether all is fresh.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from gang_scheduler.api import schema
from gang_scheduler.api.meta import CustomResource
from gang_scheduler.api.network_topology import ClusterNetworkTopology
from gang_scheduler.api.pod_group import PodGroup
from gang_scheduler.api.queues.queue import NAME_RULES, Queue
from gang_scheduler.api.resource_flavor import ResourceFlavor

HEADER: Final = "# Generated from operator/gang_scheduler/api; do not edit, run: make crds\n"
# The API server refuses a CRD in a group of the Kubernetes community without this annotation.
APPROVAL: Final = {
    "api-approved.kubernetes.io": "unapproved, compatible with the PodGroup of scheduler-plugins"
}


@dataclass(frozen=True)
class Column:
    """A column of `kubectl get`; with `wide` one of `-o wide`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


@dataclass(frozen=True)
class Definition:
    """What a CRD says beside the schema. `rules` are those of whole objects."""

    model: type[CustomResource]
    scope: str
    singular: str
    short_names: tuple[str, ...]
    columns: tuple[Column, ...]
    annotations: dict[str, str]
    rules: tuple[dict[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The name that the API server wants for this CRD."""
        return f"{self.model.PLURAL}.{self.model.GROUP}"


AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")

DEFINITIONS: Final = (
    Definition(
        model=PodGroup,
        scope="Namespaced",
        singular="podgroup",
        short_names=("pg", "gangs"),
        columns=(
            Column("Phase", ".status.phase"),
            Column("Min", ".spec.minMember", "integer"),
            Column("Members", ".status.members", "integer"),
            Column("Scheduled", ".status.scheduled", "integer"),
            Column("Running", ".status.running", "integer"),
            Column("Domain", ".status.domain", wide=True),
            Column("Queue", ".status.queue.name", wide=True),
            Column("Reason", '.status.conditions[?(@.type=="Scheduled")].reason'),
            AGE,
        ),
        annotations=APPROVAL,
    ),
    Definition(
        model=ClusterNetworkTopology,
        scope="Cluster",
        singular="clusternetworktopology",
        short_names=("cnt",),
        columns=(Column("Ready", '.status.conditions[?(@.type=="Ready")].status'), AGE),
        annotations={},
    ),
    Definition(
        model=Queue,
        scope="Cluster",
        singular="queue",
        short_names=("pgq",),
        columns=(
            Column("Parent", ".spec.parent"),
            Column("Weight", ".spec.weight", "number"),
            Column("Resource", ".status.summary.resource"),
            Column("Nominal", ".status.summary.nominal"),
            Column("Used", ".status.summary.used"),
            Column("Borrowed", ".status.summary.borrowed"),
            Column("Lent", ".status.summary.lent"),
            Column("Share", ".status.share"),
            Column("Pending", ".status.pendingJobs", "integer"),
            Column("Running", ".status.runningJobs", "integer"),
            Column("Active", '.status.conditions[?(@.type=="Active")].status'),
            AGE,
        ),
        annotations={},
        rules=NAME_RULES,
    ),
    Definition(
        model=ResourceFlavor,
        scope="Cluster",
        singular="resourceflavor",
        short_names=("pgf",),
        columns=(Column("Topology", ".spec.topologyName"), AGE),
        annotations={},
    ),
)


def custom_resource_definition(definition: Definition) -> dict[str, Any]:
    """Return the CRD as the manifest that users apply."""
    model = definition.model
    metadata: dict[str, Any] = {"name": definition.name}
    if definition.annotations:
        metadata["annotations"] = dict(definition.annotations)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata,
        "spec": {
            "group": model.GROUP,
            "scope": definition.scope,
            "names": {
                "kind": model.__name__,
                "listKind": f"{model.__name__}List",
                "plural": model.PLURAL,
                "singular": definition.singular,
                "shortNames": list(definition.short_names),
                "categories": ["py-gang-scheduler"],
            },
            "versions": [_version(definition)],
        },
    }


def _version(definition: Definition) -> dict[str, Any]:
    """Return the one version that is served and stored."""
    validation = schema.structural(definition.model)
    # The API server checks metadata itself and allows no more than this here.
    validation["properties"]["metadata"] = {"type": "object"}
    if definition.rules:
        validation["x-kubernetes-validations"] = list(definition.rules)
    has_status = "status" in definition.model.model_fields
    return {
        "name": definition.model.VERSION,
        "served": True,
        "storage": True,
        **({"subresources": {"status": {}}} if has_status else {}),
        "additionalPrinterColumns": [
            {
                "name": column.name,
                "type": column.type,
                "jsonPath": column.path,
                **({"priority": 1} if column.wide else {}),
            }
            for column in definition.columns
        ],
        "schema": {"openAPIV3Schema": validation},
    }


class _Dumper(yaml.SafeDumper):
    """Writes every value out; anchors are for programs, not for readers."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        """Return that no value is referred to."""
        return True


def _text(definition: Definition) -> str:
    """Return the CRD as the text of its file."""
    manifest = custom_resource_definition(definition)
    return HEADER + yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=100)


def files() -> dict[str, str]:
    """Return the text of every generated file by its name."""
    return {f"{definition.name}.yaml": _text(definition) for definition in DEFINITIONS}


def stale(directory: Path) -> list[Path]:
    """Return the files of the directory that are missing or differ from what would be written."""
    return [
        directory / name
        for name, text in files().items()
        if not (directory / name).is_file() or (directory / name).read_text() != text
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the directories; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m gang_scheduler.api.crds")
    parser.add_argument("--check", action="store_true", help="write nothing, fail on stale files")
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR")
    options = parser.parse_args(arguments)
    outdated = [path for directory in options.directories for path in stale(directory)]
    if options.check:
        for path in outdated:
            print(f"{path} is stale, run: make crds", file=sys.stderr)
        return 1 if outdated else 0
    for path in outdated:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(files()[path.name])
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
