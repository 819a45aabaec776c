"""Objects with something wrong in them: a part is missing, or is something else."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

from hypothesis import strategies as st

DEEP: Any = []
for _ in range(150):
    DEEP = [DEEP]

JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 7, 2**31, 2**63, 2**64, -(2**64), 10**30, 10**400, "@huge@"),
    *(0.5, -0.5, 1e300, float("nan"), float("inf"), float("-inf")),
    *("", " ", "x", "-5", "1.5", "1e9", "1e999", "1e-999", "9" * 5000, "node-" + "9" * 5000),
    *("\x00", "\n", "\u00e9", "\U0001f600", "\ud800", "\u0663", "\u00b2", "a\u0000b", "." * 300),
    *("true", "null", "NaN", "[]", "{}", "[" * 2000, '{"a": 1, "a": 2}', "[1, null, {}]", "\\"),
    *("10m", "-10s", "1h" * 500, "50%", "-1%", "\u00b2%", "9" * 5000 + "%", "5 Gi", "1Ki", "0x10"),
    *("2024-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"),
    *("2024-02-30T00:00:00Z", "2024-01-01", "n1", "default", "default/g", "metadata.name", "In"),
    *([], {}, [None], [[]], [{}], ["x"], [1], ["x", None], {"": None}, {"a": {}}, {"a": []}),
    *({"x": "y"}, {"x": 1}, {"name": "x"}, {"key": "x", "operator": "In"}, DEEP),
)

Path = tuple[Any, ...]


def written(tree: Any) -> str:
    """Return the object as JSON, with numbers in it that Python itself would not write."""
    return json.dumps(tree).replace('"@huge@"', "9" * 5000)


def paths(tree: Any, here: Path = ()) -> Iterator[Path]:
    """Yield the way to every part below the root."""
    steps: Any = ()
    if isinstance(tree, dict):
        steps = tree
    elif isinstance(tree, list):
        steps = range(len(tree))
    for step in steps:
        yield (*here, step)
        yield from paths(tree[step], (*here, step))


def mutate(tree: Any, path: Path, how: str, junk: Any) -> None:
    """Change one part in place; nothing happens where it is gone already."""
    *above, last = path
    try:
        for step in above:
            tree = tree[step]
        part = tree[last]
    except (KeyError, IndexError, TypeError):
        return
    if isinstance(tree, str):
        return
    if how == "delete":
        del tree[last]
    elif how == "rename":
        if isinstance(tree, dict):
            tree[junk if isinstance(junk, str) else "x"] = part
    else:
        tree[last] = CHANGES[how](part, junk)


CHANGES: dict[str, Callable[[Any, Any], Any]] = {
    "replace": lambda _, junk: junk,
    "wrap": lambda part, _: [part],
    "box": lambda part, _: {"x": part},
    "text": lambda part, _: json.dumps(part, default=str),
    "double": lambda part, _: [*part, *part] if isinstance(part, list) else part,
}
HOWS = ("replace", "replace", "replace", "delete", "wrap", "box", "text", "rename", "double")


@st.composite
def mutants(draw: st.DrawFn, tree: Any) -> Any:
    """Return a copy of an object with one to three parts that are wrong."""
    made = copy.deepcopy(tree)
    ways = list(paths(made))
    for _ in range(draw(st.integers(1, 3))):
        mutate(
            made,
            draw(st.sampled_from(ways)),
            draw(st.sampled_from(HOWS)),
            draw(st.sampled_from(JUNK)),
        )
    return made
