"""The tables in the chart's README: every value with its default and its meaning."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from tools.chart import CHART
from tools.chart.schema import Schema

README: Final = CHART / "README.md"
GENERATED: Final = re.compile(
    r"(<!-- (values|settings): generated, run: make chart -->\n).*?(<!-- end -->)", re.DOTALL
)
LONGEST_DEFAULT: Final = 60


def text(schema: Schema) -> str:
    """Return the text of the README, its tables made again."""
    settings = schema["properties"]["settings"]
    rows = {
        "values": _values(schema, yaml.safe_load((CHART / "values.yaml").read_text())),
        "settings": _rows(settings["properties"], "settings."),
    }

    def table(match: re.Match[str]) -> str:
        head = "| value | default | meaning |\n|---|---|---|\n"
        return match[1] + head + "".join(rows[match[2]]) + match[3]

    return GENERATED.sub(table, README.read_text())


def _values(schema: Schema, defaults: Any, path: str = "") -> Iterator[str]:
    """Yield a row for every value that has a default. What is described is not gone into."""
    for name, child in schema["properties"].items():
        if name not in defaults or name == "settings":
            continue
        if "properties" in child and "description" not in child:
            yield from _values(child, defaults[name], f"{path}{name}.")
        else:
            yield _row(path + name, defaults[name], child["description"])


def _rows(properties: dict[str, Schema], path: str) -> Iterator[str]:
    for name, schema in properties.items():
        yield _row(path + name, schema["default"], schema["description"])


def _row(name: str, default: Any, description: str) -> str:
    shown = json.dumps(default)
    if len(shown) > LONGEST_DEFAULT:
        shown = "see values.yaml"
    return f"| `{name}` | `{shown}` | {description} |\n"
