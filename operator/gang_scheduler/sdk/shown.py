"""The answers about a job: as text, and as tables in a notebook."""

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in HTML. All texts are escaped."""
    head = "".join(f"<th>{html.escape(each)}</th>" for each in headings)
    lines = ("".join(f"<td>{html.escape(each)}</td>" for each in row) for row in rows)
    body = "".join(f"<tr>{each}</tr>" for each in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class Created:
    """The objects of a job (kind, name and purpose), and a sentence on when the job starts."""

    objects: tuple[tuple[str, str, str], ...]
    prediction: str = ""

    def __str__(self) -> str:
        """Return a line for each object."""
        lines = [f"{kind} {name}: {what}" for kind, name, what in self.objects]
        return "\n".join([*lines, self.prediction] if self.prediction else lines)

    def _repr_html_(self) -> str:
        found = table(("kind", "name", "what"), self.objects)
        return found + (f"<p>{html.escape(self.prediction)}</p>" if self.prediction else "")


@dataclass(frozen=True)
class Explained:
    """The answer of `explain`: its `text`, and the `document` of its JSON.

    In a notebook, each domain of the network is a row of a table, with its room for members.
    """

    text: str
    document: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return the text that the command prints."""
        return self.text

    @property
    def reason(self) -> str:
        """Why the job waits, as one word; "" if it does not wait."""
        return str(self.document.get("reason") or "")

    @property
    def summary(self) -> str:
        """Why the job waits, as a sentence."""
        return str(self.document.get("summary", ""))

    def _repr_html_(self) -> str:
        found = self.document
        name = f"{found.get('namespace', '')}/{found.get('name', '')}".strip("/")
        facts = [
            ("gang", name),
            ("state", str(found.get("state", ""))),
            ("reason", self.reason),
            ("summary", self.summary),
        ]
        shown = table(("", ""), [(key, value) for key, value in facts if value])
        where = found.get("where") or {}
        domains = [(str(each["domain"]), str(each["slots"])) for each in _domains(where)]
        if domains:
            needed = str(where.get("needed", ""))
            shown += table((str(where.get("layer") or "where"), f"room, of {needed}"), domains)
        return f"{shown}<pre>{html.escape(self.text)}</pre>"


def _domains(where: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    return [each for each in where.get("domains") or () if each.get("domain")]


class Waits(Exception):  # noqa: N818 - named after the state that it reports.
    """A job did not reach the requested phase. It has the `reason`, and the answer of `explain`."""

    def __init__(self, message: str, reason: str, explanation: Explained) -> None:
        super().__init__(message)
        self.reason = reason
        self.explanation = explanation
