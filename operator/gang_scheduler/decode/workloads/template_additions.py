"""What an admission added to the pod templates of a workload, and how that is taken out again.

It stands in an annotation of the workload, written with the additions in one patch. Only what is
still there as it was added is taken out: what a user has changed since stays as the user has it.
"""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, Final

import msgspec

from gang_scheduler.api.annotations import ADMITTED_FROM
from gang_scheduler.model.pods import Toleration
from gang_scheduler.model.suspended import TemplateEdit, TemplatePath

Document = MutableMapping[str, Any]
LONGEST: Final = 200_000
"""In bytes; all annotations of an object may have 256 KiB together."""


class _Label(msgspec.Struct, frozen=True, omit_defaults=True):
    """A node label: what the nodeSelector has now, and what it had, null for nothing."""

    now: str
    before: str | None = None


class _Added(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """What was added to the template at a path."""

    path: tuple[str | int, ...]
    node_selector: dict[str, _Label] = {}
    tolerations: list[dict[str, str]] = []


def add(document: Document, edits: Iterable[TemplateEdit]) -> str:
    """Add to the templates of a workload, in place, and return what the annotation is to say.

    "" where nothing is added. Raises LookupError with a path, in dots, that is not there.
    """
    added = [each for edit in edits if (each := _add(document, edit)) is not None]
    return msgspec.json.encode(added).decode() if added else ""


def take_out(document: Document) -> None:
    """Take out of the templates of a workload, in place, what its annotation says was added."""
    for each in _added(document):
        pod = _pod_at(document, each.path)
        if pod is not None:
            _restore_labels(pod, each.node_selector)
            _drop_tolerations(pod, each.tolerations)


def without_additions(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a workload as its user wrote it; the same object if nothing was added to it."""
    if ADMITTED_FROM not in ((document.get("metadata") or {}).get("annotations") or {}):
        return document
    copied: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(document))
    take_out(copied)
    return copied


def _added(document: Mapping[str, Any]) -> Iterator[_Added]:
    text = ((document.get("metadata") or {}).get("annotations") or {}).get(ADMITTED_FROM)
    if not text or len(text) > LONGEST:
        return
    try:
        yield from msgspec.json.decode(text, type=list[_Added])
    except (msgspec.DecodeError, UnicodeError):
        # A user may have written anything there: then nothing is known to be ours.
        return


def _add(document: Document, edit: TemplateEdit) -> _Added | None:
    pod = _pod_at(document, edit.path)
    if pod is None:
        raise LookupError(".".join(map(str, edit.path)))
    selector = dict(pod.get("nodeSelector") or {})
    labels = {
        key: _Label(value, selector.get(key))
        for key, value in edit.node_labels
        if selector.get(key) != value
    }
    tolerations = list(pod.get("tolerations") or ())
    missing = [each for each in map(_written, edit.tolerations) if each not in tolerations]
    if labels:
        pod["nodeSelector"] = selector | {key: each.now for key, each in labels.items()}
    if missing:
        pod["tolerations"] = [*tolerations, *missing]
    return _Added(edit.path, labels, missing) if labels or missing else None


def _restore_labels(pod: Document, labels: Mapping[str, _Label]) -> None:
    selector = dict(pod.get("nodeSelector") or {})
    for key, label in labels.items():
        if selector.get(key) != label.now:
            continue
        if label.before is None:
            del selector[key]
        else:
            selector[key] = label.before
    _set(pod, "nodeSelector", selector)


def _drop_tolerations(pod: Document, added: Iterable[Mapping[str, str]]) -> None:
    left = list(pod.get("tolerations") or ())
    for each in added:
        if each in left:
            left.remove(each)
    _set(pod, "tolerations", left)


def _set(pod: Document, field: str, value: Any) -> None:  # noqa: ANN401 - a list or a map.
    if value:
        pod[field] = value
    else:
        pod.pop(field, None)


def _pod_at(document: Any, path: TemplatePath) -> Document | None:  # noqa: ANN401 - any JSON.
    """Return the `spec` of the template at a path; None where there is none."""
    found = document
    for step in (*path, "spec"):
        try:
            found = found[step]
        except (LookupError, TypeError):
            return None
    return found if isinstance(found, MutableMapping) else None


def _written(toleration: Toleration) -> dict[str, str]:
    """Return a toleration as the API server keeps it."""
    fields = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
    }
    return {name: value for name, value in fields.items() if value}
