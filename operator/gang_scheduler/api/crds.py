"""CRDs, made from the models by `python -m gang_scheduler.api.crds [--check] DIR...`.

The models are the only place where a field is described. `make crds` runs this for `crds/` and
for the chart's copy. With `--check` nothing is written, and the exit status says whether the
files are up to date.
"""

import argparse
import enum
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import yaml
from pydantic import BaseModel, Field

from gang_scheduler.api.pod_group import ATOMIC_LIST, ApiModel, CustomResource, PodGroup, Text
from gang_scheduler.api.queue import NAME_RULES, Queue
from gang_scheduler.api.topology import ClusterNetworkTopology

# The structural schema that a CRD may contain, made from a pydantic model: no references, a type
# on every value, and nullable fields simply not required. A keyword that is not known here is
# refused at once, before the API server would refuse it.
#
# Rules: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-
# definitions

Schema = dict[str, Any]

# Titles only repeat the names. Defaults would make the API server write into users' objects.
DROPPED: Final = frozenset({"title", "default"})
KEPT: Final = frozenset(
    {
        "description",
        "enum",
        "format",
        "maxItems",
        "maxLength",
        "maxProperties",
        "minItems",
        "minLength",
        "minimum",
        "pattern",
        "required",
        "type",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-validations",
    }
)


class UnknownKeyword(ValueError):  # noqa: N818 - named after the finding, like InvalidField
    """A model uses a JSON schema keyword that may not be allowed in a CRD."""


def structural(model: type[BaseModel]) -> Schema:
    """Return the model's schema in the form that a CRD needs."""
    schema = model.model_json_schema(by_alias=True)
    return _structural(schema, schema.pop("$defs", {}))


def _structural(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of one value and of all values inside it, with references resolved."""
    schema = _without_null(_resolved(schema, definitions), definitions)
    result: Schema = {}
    for keyword, value in sorted(schema.items()):
        if keyword in DROPPED:
            continue
        if keyword == "properties":
            result[keyword] = {name: _structural(s, definitions) for name, s in value.items()}
        elif keyword in {"items", "additionalProperties"} and isinstance(value, dict):
            result[keyword] = _structural(value, definitions)
        elif keyword in KEPT:
            result[keyword] = value
        elif keyword != "additionalProperties" or value is not True:
            raise UnknownKeyword(keyword)
    return result


def _resolved(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return the schema with its reference replaced; fields next to the reference win."""
    if "$ref" not in schema:
        return schema
    beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
    target = definitions[schema["$ref"].removeprefix("#/$defs/")]
    return {**_resolved(target, definitions), **beside}


def _without_null(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of an optional value without the choice of null."""
    if "anyOf" not in schema:
        return schema
    choices = [choice for choice in schema["anyOf"] if choice != {"type": "null"}]
    if len(choices) != 1:
        raise UnknownKeyword("anyOf")
    beside = {keyword: value for keyword, value in schema.items() if keyword != "anyOf"}
    return {**_resolved(choices[0], definitions), **beside}


# ResourceFlavor: a set of nodes on which queues have quotas. It has the shape of Kueue's
# ResourceFlavor.

MOST_LABELS = 32


class TaintEffect(enum.StrEnum):
    """The pods that a taint keeps away."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class FlavorTaint(ApiModel):
    """A taint that the nodes have."""

    key: Text = Field(min_length=1, max_length=317, description="The key of the taint.")
    value: Text = Field(default="", max_length=63, description="The value of the taint.")
    effect: TaintEffect = Field(description="NoSchedule, PreferNoSchedule or NoExecute.")


class FlavorToleration(ApiModel):
    """A toleration for gangs of the flavor, given to pods that may be changed."""

    key: Text = Field(
        default="", max_length=317, description="The key of the taint. Empty: any key."
    )
    operator: Text = Field(default="", description="Equal, or Exists.")
    value: Text = Field(default="", max_length=63, description="The value of the taint.")
    effect: Text = Field(default="", description="The effect of the taint. Empty: any effect.")


class ResourceFlavorSpec(ApiModel):
    """Which nodes the flavor has."""

    node_labels: dict[Text, Text] | None = Field(
        default=None,
        max_length=MOST_LABELS,
        description="Labels of the nodes. Absent or empty: all nodes.",
    )
    node_taints: tuple[FlavorTaint, ...] = Field(
        default=(),
        max_length=MOST_LABELS,
        description=(
            "Taints of the nodes. A gang that does not tolerate them does not get the flavor."
        ),
        json_schema_extra=ATOMIC_LIST,
    )
    tolerations: tuple[FlavorToleration, ...] = Field(
        default=(),
        max_length=MOST_LABELS,
        description=(
            "Tolerations that are added to pods of gangs with the flavor, if these pods may be "
            "changed."
        ),
        json_schema_extra=ATOMIC_LIST,
    )
    topology_name: Text | None = Field(
        default=None, description="The topology in which gangs of the flavor are placed."
    )


class ResourceFlavor(CustomResource):
    """A set of nodes for which queues have quotas."""

    GROUP: ClassVar[str] = "py-gang-scheduler.io"
    PLURAL: ClassVar[str] = "resourceflavors"

    api_version: Text = Field(
        default="py-gang-scheduler.io/v1alpha1",
        description="The group and version that the object is written in.",
    )
    kind: Text = Field(
        default="ResourceFlavor", description="The kind of the object: ResourceFlavor."
    )
    spec: ResourceFlavorSpec = Field(
        default=ResourceFlavorSpec(), description="The nodes of the flavor."
    )


HEADER: Final = "# Generated from operator/gang_scheduler/api; do not edit, run: make crds\n"
# The API server refuses a CRD in a group of the Kubernetes community without this annotation.
APPROVAL: Final = {
    "api-approved.kubernetes.io": "unapproved, compatible with the PodGroup of scheduler-plugins"
}


@dataclass(frozen=True)
class Column:
    """A column of `kubectl get`; if `wide`, only of `-o wide`."""

    name: str
    path: str
    type: str = "string"
    wide: bool = False


@dataclass(frozen=True)
class Definition:
    """The parts of a CRD in addition to the schema. `rules` are CEL rules for whole objects."""

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
    validation = structural(definition.model)
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
    """Writes every value in full, without anchors: those are hard to read."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        """Return True: YAML is written without aliases."""
        return True


def _text(definition: Definition) -> str:
    """Return the CRD as the text of its file."""
    manifest = custom_resource_definition(definition)
    return HEADER + yaml.dump(manifest, Dumper=_Dumper, sort_keys=False, width=100)


def files() -> dict[str, str]:
    """Return the text of every generated file by its name."""
    return {f"{definition.name}.yaml": _text(definition) for definition in DEFINITIONS}


def stale(directory: Path) -> list[Path]:
    """Return the files of the directory that are missing or out of date."""
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
