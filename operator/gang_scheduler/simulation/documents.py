"""The documents of the arguments FILE, DIR and -, each with its place for messages."""

import codecs
import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.recording import file_format
from gang_scheduler.recording.file_format import Recorded
from gang_scheduler.simulation import snapshot_files, syntax
from gang_scheduler.simulation.snapshot_files import Header, Stored, UnreadableLine

STDIN = "-"
LINES = (".jsonl", ".jsonl.gz")
"""File name endings with one document a line."""
SUFFIXES = (".json", *LINES, ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Document:
    """An object of the input. `number` counts from 1 in its file; `path` is its place in a List.

    `made_by` is the document of the workload whose controller creates the object. With a `header`,
    the object comes from a snapshot of manifests, which already contains the objects that
    controllers would create. `line` is its line in a file of lines.
    """

    file: str
    number: int
    body: Mapping[str, Any]
    path: str = ""
    made_by: "Document | None" = None
    header: Header | None = None
    line: int = 0

    @property
    def place(self) -> str:
        """The place of the document, for messages."""
        inside = f", {self.path}" if self.path else ""
        if self.line:
            return f"{self.file}: line {self.line}{inside}"
        return f"{self.file}: document {self.number}{inside}"

    @property
    def is_from_cluster(self) -> bool:
        """Whether an API server has stored the object, or the object that it is made from."""
        if self.made_by is not None:
            return self.made_by.is_from_cluster
        metadata = self.body.get("metadata")
        given = metadata if isinstance(metadata, Mapping) else {}
        return bool(given.get("uid") or given.get("resourceVersion"))

    def problem(self, error: InvalidField) -> "Problem":
        """Return the problem for an error in this document."""
        return Problem(f"{self.place}: {error}")


@dataclass(frozen=True, slots=True)
class Problem:
    """An unreadable part of the input, in one line."""

    text: str


Item = Document | Stored | Problem
"""The items of a file: manifests, objects of a snapshot, and problems."""


def read(names: Iterable[str], *, recursive: bool = False) -> Iterator[Item]:
    """Yield the objects of files, of the files of directories, and of standard input (`-`).

    Subdirectories are read if `recursive`.
    """
    for name in names:
        for file in _files(name, recursive=recursive):
            if isinstance(file, Problem):
                yield file
            else:
                yield from _read_file(file)


def parse(file: str, text: str) -> Iterator[Document | Problem]:
    """Yield the objects of a text, up to the first broken document."""
    number = 0
    try:
        for number, value in enumerate(syntax.values(text), start=1):
            if value is not None:
                yield from _objects(Document(file, number, value))
    except syntax.UnreadableText as error:
        yield Problem(f"{file}: document {number + 1}: is neither YAML nor JSON: {error}")


def _files(name: str, *, recursive: bool) -> Iterator[str | Problem]:
    path = Path(name)
    if name == STDIN or not name or not path.is_dir():
        yield name
        return
    inside = path.rglob("*") if recursive else path.iterdir()
    found = sorted(each for each in inside if each.name.endswith(SUFFIXES) and each.is_file())
    yield from (str(each) for each in found)
    if not found:
        deeper = any(each.is_dir() for each in path.iterdir()) and not recursive
        hint = "; -R reads the directories in it, too" if deeper else ""
        yield Problem(f"{name}: has no file that ends in {', '.join(SUFFIXES)}{hint}")


def _read_file(name: str) -> Iterator[Item]:
    shown = "<stdin>" if name == STDIN else name or '""'
    try:
        raw = sys.stdin.buffer.read() if name == STDIN else _bytes(name)
        yield from of_content(shown, snapshot_files.unpacked(raw))
    except UnicodeDecodeError as error:
        yield Problem(f"{shown}: is not UTF-8 text: {error.reason} at byte {error.start}")
    except UnreadableLine as error:
        yield Problem(str(error))
    except OSError as error:
        yield Problem(f"{shown}: cannot be read: {error.strerror}")
    except ValueError as error:
        yield Problem(f"{shown}: {error}")


def of_content(shown: str, content: bytes) -> Iterator[Item]:
    """Yield the objects of a file's content; of a recording, the last state of each.

    Raises UnreadableLine, UnreadableRecording and UnicodeDecodeError.
    """
    if file_format.is_recording(content):
        yield from of_recording(shown, file_format.read(content))
        return
    header = snapshot_files.header_of(shown, content)
    if header is None and not shown.endswith(LINES):
        yield from parse(shown, content.decode("utf-8-sig"))
        return
    content = content.removeprefix(codecs.BOM_UTF8)
    after_header = itertools.islice(snapshot_files.lines(content), header is not None, None)
    for number, line in after_header:
        if header is not None and header.source == snapshot_files.LIVE:
            yield Stored(shown, number, line, header)
        else:
            value = snapshot_files.value(shown, number, line)
            yield from _objects(Document(shown, number, value, header=header, line=number))


def of_recording(shown: str, recorded: Recorded) -> Iterator[Document]:
    """Yield the objects of a recording; each has the settings of the recording in its header."""
    header = snapshot_files.header_of_recording(recorded)
    for number, body in enumerate(recorded.objects, start=1):
        yield Document(shown, number, body, header=header)


def _bytes(name: str) -> bytes:
    with open(name, "rb") as file:  # noqa: PTH123 - Path("") would be the working directory.
        return file.read()


def _objects(document: Document) -> Iterator[Document | Problem]:
    """Yield the document, or the items of a List."""
    try:
        items = _items(document.body)
    except InvalidField as error:
        yield document.problem(error)
        return
    if items is None:
        yield document
        return
    for i, item in enumerate(items):
        path = f"{document.path}.items[{i}]".removeprefix(".")
        yield from _objects(replace(document, body=item, path=path))


def _items(body: object) -> list[Any] | None:
    """Return the items of a List, each with kind and apiVersion; None for any other object."""
    if not isinstance(body, Mapping):
        raise InvalidField("the document", body, "must be an object")
    if not _is_list(body):
        return None
    items = body.get("items", [])
    if not isinstance(items, list):
        raise InvalidField("items", items, "must be a list")
    return [_item(body, item) for item in items]


def _is_list(body: Mapping[str, Any]) -> bool:
    kind = body.get("kind")
    if not isinstance(kind, str):
        return False
    if kind != "List" and kind.lower() == "list":
        raise InvalidField("kind", kind, "must be List")
    return kind == "List" or (kind.endswith("List") and "items" in body)


def _item(body: Mapping[str, Any], item: Any) -> Any:  # noqa: ANN401 - any JSON value.
    """Return the item of a list with its kind, which items of a PodList do not state."""
    if not isinstance(item, Mapping) or body["kind"] == "List":
        return item
    return {
        "kind": body["kind"].removesuffix("List"),
        "apiVersion": body.get("apiVersion", ""),
        **item,
    }
