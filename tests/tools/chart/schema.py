"""values.schema.json: what is written by hand, and the settings as they are in the code."""

import json
from pathlib import Path
from typing import Any, Final

import yaml

from gang_scheduler.settings.run import Settings
from tools.chart import CHART

Schema = dict[str, Any]

WRITTEN: Final = Path(__file__).parent / "schema.yaml"
COMMENT: Final = (
    "Generated from gang_scheduler.settings and tests/tools/chart/schema.yaml; do not edit, run: "
    "make chart"
)
FIXED: Final = frozenset({"http_port", "lease_name", "lease_namespace"})
"""Settings that other objects of the chart name: its Service and its Role."""


def text() -> str:
    """Return the text of values.schema.json."""
    return json.dumps(values_schema(), indent=2, ensure_ascii=False) + "\n"


def values_schema() -> Schema:
    """Return the schema of all values."""
    schema: Schema = {"$comment": COMMENT, **yaml.safe_load(WRITTEN.read_text())}
    schema["properties"]["settings"] = _settings()
    schema["properties"]["alerts"]["properties"]["rules"]["properties"] = _alerts()
    return schema


def _alerts() -> Schema:
    """Return the schema of what can be said of each alert: not all have a threshold."""
    alike = {
        "for": {"$ref": "#/definitions/duration"},
        "severity": {"enum": ["critical", "warning", "info"]},
    }
    # A fraction after `helm --set` is a string.
    number = {"type": ["number", "string"], "minimum": 0, "pattern": r"^[0-9]+(\.[0-9]+)?$"}
    values = yaml.safe_load((CHART / "values.yaml").read_text())["alerts"]["rules"]
    return {
        name: {
            "type": ["object", "null"],
            "additionalProperties": False,
            "properties": ({"threshold": number} if "threshold" in default else {}) | alike,
        }
        for name, default in values.items()
    }


def _settings() -> Schema:
    made = Settings.model_json_schema()
    return {
        "type": ["object", "null"],
        "additionalProperties": False,
        "description": (
            "Settings of the scheduler. Each becomes PGS_* in the environment. The port and the "
            "Lease are the chart's."
        ),
        "properties": {
            camel(name): _setting(schema, made.get("$defs", {}))
            for name, schema in made["properties"].items()
            if name not in FIXED
        },
    }


def _setting(schema: Schema, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of one setting with its definitions in place: draft 7 takes no other."""
    if "$ref" in schema:
        schema = {**definitions[schema["$ref"].removeprefix("#/$defs/")], **schema}
    found = {key: value for key, value in schema.items() if key not in {"$ref", "title"}}
    if "items" in found:
        found["items"] = _setting(found["items"], definitions)
    if "anyOf" in found:
        found["anyOf"] = [_setting(each, definitions) for each in found["anyOf"]]
    if "properties" in found:
        properties = found["properties"].items()
        found["properties"] = {name: _setting(each, definitions) for name, each in properties}
    return found


def camel(name: str) -> str:
    """Return the name of a setting as the chart writes it."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
