"""Measures of the code in operator/, by its syntax trees, printed by `tools.code_measures`.

"file" is the median of lines a file, and of functions the lines of the body without the docstring
count. Storeys are the modules of the
longest chain of imports inside a package; a circle counts as one storey.
"""

import ast
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[2] / "operator"
LONG_FILE = 250
EMPTY_FILE = 3
"""Files up to this length do not count towards the median."""
ONE_FILE_MODULES = "(top)"

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Module(NamedTuple):
    """A module: its dotted name, and what is counted of it."""

    name: str
    path: Path
    lines: int
    functions: tuple[int, ...]
    imports: frozenset[str]

    @property
    def area(self) -> str:
        """The package right below the scheduler's, if it is in one; or the auditor's own."""
        package, *parts = self.path.relative_to(SOURCE).parts
        if package != "gang_scheduler":
            return package
        return parts[0] if len(parts) > 1 else ONE_FILE_MODULES


@cache
def modules() -> tuple[Module, ...]:
    """Read all modules, once."""
    paths = {_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
    return tuple(_read(name, path, paths) for name, path in paths.items())


def _name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _read(name: str, path: Path, known: Mapping[str, Path]) -> Module:
    text = path.read_text()
    nodes = list(ast.walk(ast.parse(text)))
    functions = tuple(_length(node) for node in nodes if isinstance(node, Function))
    imports = frozenset(target for node in nodes for target in _imports(node, known))
    return Module(name, path, len(text.splitlines()), functions, imports - {name})


def _length(function: Function) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def _imports(node: ast.AST, known: Mapping[str, Path]) -> Iterable[str]:
    if isinstance(node, ast.Import):
        return [each.name for each in node.names if each.name in known]
    if isinstance(node, ast.ImportFrom) and node.module and node.module in known:
        package = node.module
        names = (f"{package}.{each.name}" for each in node.names)
        return [name if name in known else package for name in names]
    return []


def circles(found: Iterable[Module]) -> list[frozenset[str]]:
    """Return the sets of modules that import each other, also by way of others."""
    reached = _reached({each.name: each.imports for each in found})
    groups = {
        frozenset(other for other in there if name in reached[other])
        for name, there in reached.items()
        if name in there
    }
    return sorted(groups, key=sorted)


def _reached(arrows: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Return what each module imports, also by way of others."""
    reached = {}
    for start in arrows:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            new = (arrows[ahead.pop()] & arrows.keys()) - seen
            seen |= new
            ahead += new
        reached[start] = frozenset(seen)
    return reached


def storeys(found: Iterable[Module]) -> int:
    """Return the length of the longest chain of imports among these modules."""
    arrows = {each.name: each.imports for each in found}
    reached = _reached(arrows)

    @cache
    def height(name: str) -> int:
        below = (each for each in arrows[name] & arrows.keys() if name not in reached[each])
        return 1 + max((height(each) for each in below), default=0)

    return max(map(height, arrows))


def report(found: Sequence[Module]) -> str:
    """Return all measures as Markdown."""
    areas: dict[str, list[Module]] = defaultdict(list)
    for each in found:
        areas[each.area].append(each)
    largest = sorted(areas, key=lambda area: -sum(each.lines for each in areas[area]))
    folders = Counter(each.path.parent for each in found if each.path.name != "__init__.py")
    many = (f"{folder.relative_to(SOURCE)} {number}" for folder, number in folders.most_common(5))
    long = [each for each in found if each.lines > LONG_FILE]
    longest = max(each.lines for each in found)
    return "\n".join(
        [
            "| package | modules | lines | file | functions | median / p90 / max | storeys |",
            "|---|---:|---:|---:|---:|---|---:|",
            _row("all", found),
            *(_row(area, areas[area]) for area in largest),
            "",
            f"- Most modules in a folder: {', '.join(many)}.",
            f"- Circles of modules: {len(circles(found))}.",
            f"- Files over {LONG_FILE} lines: {len(long)}; the longest file has {longest}.",
        ]
    )


def _row(title: str, found: Sequence[Module]) -> str:
    lengths = sorted(length for each in found for length in each.functions)
    median = statistics.median(lengths)
    p90 = lengths[len(lengths) * 9 // 10]
    lines = [each.lines for each in found]
    file = statistics.median(each for each in lines if each > EMPTY_FILE)
    return (
        f"| {title} | {len(found)} | {sum(lines):,} | {file:.0f} | {len(lengths):,} "
        f"| {median:g} / {p90} / {lengths[-1]} | {storeys(found)} |"
    )


if __name__ == "__main__":
    print(report(modules()))
