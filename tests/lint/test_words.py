"""Decisions are data to the end: report asks for their words, and nothing decides on a sentence."""

import ast
from collections.abc import Iterator

import pytest

from lint import trees
from lint.trees import PACKAGE

WORDLESS = ("model", "scheduler", "state")
"""Folders that make no sentences."""
DECIDING = (*WORDLESS, "apply", "decode")
"""Folders that must not look into any."""
TELLING = ("report", "inspection", "simulation")
"""Folders that tell people."""
QUOTES = {
    "scheduler/filters": "constants of a filter: kube-scheduler's reasons, word by word, and ours",
    "scheduler/placement/tree/gather.py": "a reason in the style of a filter's",
    "state/volumes/snapshot.py": "kube-scheduler's reasons of its volume plugins",
    "model/consequences.py": "whose turn it is, as people read it",
    "model/reasons.py": "what a reason means to people is in its row, for report and inspection",
    "model/causes": "what a cause says to people is in its class, for report and inspection",
    "model/layers.py": "what is wrong with the layers that a user wrote: input's own words",
    "model/resources.py": "what is wrong with a quantity that a user wrote",
    "scheduler/devices": "what is wrong with a claim or a selector, partly in the words of CEL",
    "model/device_quantities.py": "what is wrong with a quantity of a device",
}
KEYS = {
    "scheduler/label_domains.py": {"one node each"},
    "scheduler/placement/positions.py": {"domains by level"},
    "model/nodes.py": {"taint sets"},
    "model/topology_scope.py": {"label "},
}
"""Strings that are not shown: keys of what is derived from nodes, and names of implied trees."""
LOOKS = {
    "decode/pods/pod.py": "kube-scheduler's marks differ from ours in their message alone",
    "decode/fields.py": "msgspec says only in the message of its error where a field is",
}
TELLERS = {
    "model/causes": "a cause that is made of another one says what that one says",
    "decode/devices": "of a field: the string that it holds",
    "decode/elastic.py": "of a JsonField: the string that it holds",
    "decode/pods/membership.py": "of a JsonField",
    "decode/topology.py": "of a JsonField",
    "report/words/text.py": "of a cause: what users wrote of it is cleaned there",
}
"""Where `text()` is called, and of what."""
SEARCHES = {"startswith", "endswith", "find", "rfind", "index", "count", "partition", "split"}
TOLD = {"answer", "lead", "meaning", "message", "text"}
"""Attributes that hold what people read."""


def sources(*folders: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield the path of each module in the package, and its syntax tree."""
    for folder in folders:
        for path in trees.modules(folder):
            yield trees.place(path).as_posix(), trees.of(path)


def is_listed(path: str, exceptions: dict[str, str]) -> bool:
    """Return whether a module, or the folder that it is in, is an exception."""
    return any(path == each or path.startswith(f"{each}/") for each in exceptions)


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield string literals, and the fixed parts of f-strings; no docstrings or annotations."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            yield from texts(ast.Expression(node.value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from texts(node.args)
            yield from texts(ast.Module(node.body, []))
        elif not isinstance(node, ast.AnnAssign | ast.arg):
            yield from texts(node)


def is_sentence(node: ast.AST, constants: set[str]) -> bool:
    """Return whether an expression is text for people: a literal, a constant or an attribute."""
    match node:
        case ast.Constant(value=str(text)):
            return " " in text.strip()
        case ast.Name(id=name):
            return name in constants
        case ast.Attribute(attr=name):
            return name in TOLD or (name.isupper() and name in constants)
        case ast.JoinedStr():
            return any(is_sentence(each, constants) for each in node.values)
    return False


def constants_of(tree: ast.Module) -> set[str]:
    """Return the names of the sentences that a module keeps."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if is_sentence(node.value, set()):
                found.update(each.id for each in targets if isinstance(each, ast.Name))
    return found


def imported(tree: ast.Module) -> set[str]:
    """Return the names of the sentences that a module imports from others of the package."""
    found: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            path = PACKAGE.parent / f"{node.module.replace('.', '/')}.py"
            if path.is_file():
                kept = constants_of(trees.of(path))
                found.update(each.asname or each.name for each in node.names if each.name in kept)
    return found


def looks_into(tree: ast.AST, constants: set[str]) -> Iterator[str]:
    """Yield the expressions that compare or search a sentence."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                parts = [node.left, *node.comparators]
            case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in SEARCHES:
                parts = [value, *node.args]
            case ast.MatchValue(value=value):
                parts = [value]
            case _:
                continue
        if any(is_sentence(each, constants) for each in parts):
            yield ast.unparse(node)


def asks_for_words(tree: ast.AST) -> Iterator[str]:
    """Yield the calls for what people read of a cause."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="text")):
                yield ast.unparse(node)


def test_no_sentence_is_made_below_report() -> None:
    found = [
        (path, text)
        for path, tree in sources(*WORDLESS)
        if not is_listed(path, QUOTES)
        for text in texts(tree)
        if " " in text and text.strip(" ,") and text not in KEYS.get(path, set())
    ]

    assert [] == found


def test_no_decision_looks_into_a_sentence() -> None:
    found = [
        (path, expression)
        for path, tree in sources(*DECIDING)
        if not is_listed(path, LOOKS)
        for expression in looks_into(tree, constants_of(tree) | imported(tree))
    ]

    assert [] == found


def test_causes_are_asked_for_their_words_in_one_place_of_report() -> None:
    asking = {path for path, tree in sources(*DECIDING, *TELLING) if any(asks_for_words(tree))}

    assert [] == [path for path in asking if not is_listed(path, TELLERS)]
    assert [] == [
        each for each in TELLERS if not any(is_listed(path, {each: ""}) for path in asking)
    ]


@pytest.mark.parametrize("exceptions", [QUOTES, KEYS, LOOKS, TELLERS])
def test_every_exception_is_there(exceptions: dict[str, object]) -> None:
    assert [] == [each for each in exceptions if not trees.module_at(each).exists()]


@pytest.mark.parametrize(
    "code",
    [
        "if UNDER_WAY in said: wait()",
        'if refused.message == "no room": wait()',
        'if cause.text.startswith("403"): wait()',
        'if "cut off" in describe(refused): wait()',
        'match said:\n    case "not helpful: no":\n        wait()',
    ],
)
def test_a_look_into_a_sentence_is_found(code: str) -> None:
    assert [] != list(looks_into(ast.parse(code), {"UNDER_WAY"}))


def test_a_call_for_words_is_found() -> None:
    code = "if text(cause) or cause.text: log(why.cause.text())"

    assert ["why.cause.text()"] == list(asks_for_words(ast.parse(code)))


def test_a_sentence_is_found_in_literals_and_f_strings_alone() -> None:
    code = """'A docstring is none.'\ndef said(number: 'int | None'): return f'{number} pods'"""

    assert [" pods"] == [text for text in texts(ast.parse(code)) if " " in text]
