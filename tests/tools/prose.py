"""A word list for prose: a pod, gang, node or claim is called that, not by words for persons.

    python -m tools.prose

It prints file, line and word of every sentence that speaks of an object as of a person, and exits
with 1 if there is any. Checked are the text of Markdown files without their code, and docstrings
and comments of Python files. `make lint` runs it.
"""

import ast
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

PROJECT = Path(__file__).parents[2]

ROOTS = (
    ".github",
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "charts",
    "docs",
    "examples",
    "operator",
    "tests",
)
"""What is checked: files, and directories with all that is in them."""

BANNED = re.compile(
    r"\b(?:who|whom|whoever|whomever|nobody|somebody|anybody|everybody"
    r"|he|him|his|himself|she|hers|herself)\b",
    re.IGNORECASE,
)
PERSONS = re.compile(
    r"\b(?:people|persons?|users?|readers?|contributors?|maintainers?|newcomers?|engineers?"
    r"|administrators?|attackers?|teams?|those of you) (?:who|whom)\b"
    r"|\bwho can fix it\b",
    re.IGNORECASE,
)
"""Where persons are meant, the words are in their place."""
MENTIONED = frozenset({"Who, whom, nobody and his are for persons;"})
"""Sentences about the words themselves."""

FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^(?: {4}|\t).*$", re.MULTILINE)
SPAN = re.compile(r"``.+?``|`[^`\n]+`")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ADDRESS = re.compile(r"\]\([^)\n]*\)")


class Found(NamedTuple):
    """A banned word, and where it stands. Lines count from 1."""

    path: Path
    line: int
    word: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.word}: {self.sentence}"


def in_text(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield line, word and the line's text of every banned word in plain prose."""
    for number, line in enumerate(text.splitlines(), start=1):
        prose = PERSONS.sub(_blank, line)
        for sentence in MENTIONED:
            prose = prose.replace(sentence, " " * len(sentence))
        for word in BANNED.findall(prose):
            yield number, word, line.strip()


def of_markdown(text: str) -> str:
    """Return Markdown without its code and addresses; every line keeps its number."""
    for pattern in (FENCED, COMMENT, INDENTED, SPAN, ADDRESS):
        text = pattern.sub(_blank, text)
    return text


def of_python(text: str) -> str:
    """Return the docstrings and comments of a module without code; lines keep their numbers."""
    lines = [""] * (text.count("\n") + 1)
    for number, prose in (*_docstrings(text), *_comments(text)):
        for offset, line in enumerate(prose.splitlines()):
            lines[number - 1 + offset] += f" {line}"
    return SPAN.sub(_blank, "\n".join(lines))


def _docstrings(text: str) -> Iterator[tuple[int, str]]:
    """Yield docstrings with their first lines, those of constants included."""
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node.lineno, node.value.value


def _comments(text: str) -> Iterator[tuple[int, str]]:
    lines = iter(text.splitlines(keepends=True))
    for token in tokenize.generate_tokens(lambda: next(lines, "")):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# ")


READERS = {".md": of_markdown, ".py": of_python}


def files(roots: Iterable[str], project: Path = PROJECT) -> Iterator[Path]:
    """Yield the files with prose under the roots, in order."""
    for root in roots:
        path = project / root
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (each for each in found if each.suffix in READERS)


def check(roots: Iterable[str] = ROOTS, project: Path = PROJECT) -> Iterator[Found]:
    """Yield every banned word under the roots."""
    for path in files(roots, project):
        text = path.read_text()
        if not BANNED.search(text):
            continue  # Few files have one at all, and telling prose from code takes long.
        prose = READERS[path.suffix](text)
        for line, word, sentence in in_text(prose):
            yield Found(path.relative_to(project), line, word, sentence)


def _blank(match: re.Match[str]) -> str:
    """Return as many lines, without any words."""
    return re.sub(r"[^\n]", " ", match[0])


def main(arguments: list[str]) -> int:
    """Check the given roots, or all; print what is found, and return an exit status."""
    found = list(check(arguments or ROOTS))
    for each in found:
        print(each)
    if found:
        print(f"{len(found)} words that are for persons: name the pod, gang, node or claim instead")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
