"""Applies patches to objects: strategic merge patches and JSON patches.

Merge patches are in `client.fake`.

https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gang_scheduler.client.fake.cluster import Document, merge
from gang_scheduler.embedded.refusals import Refused

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
JSON: Final = "application/json-patch+json"
DIRECTIVE: Final = "$patch"

MERGE_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "conditions": ("type",),
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "containerStatuses": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "port"),
    "volumes": ("name",),
    "volumeMounts": ("mountPath",),
    "ownerReferences": ("uid",),
    "taints": ("key",),
    "tolerations": (),
    "addresses": ("type",),
    "imagePullSecrets": ("name",),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey",),
    "hostAliases": ("ip",),
    "secrets": ("name",),
}
"""The fields that identify the items of a list, by the list's name. Other lists are replaced."""
SETS: Final = frozenset({"finalizers"})
"""Lists of words, to which a strategic patch adds items."""


def patched(document: Document, kind: str, patch: Any, *, is_custom: bool) -> Document:  # noqa: ANN401 - whatever JSON was sent.
    """Return an object with a patch of a content type applied. Raises Refused."""
    if kind == JSON:
        return _with_operations(document, patch)
    if not isinstance(patch, Mapping):
        raise Refused(400, "the patch is no JSON object")
    if kind == MERGE:
        merged: Any = merge(document, patch)
    elif kind == STRATEGIC and not is_custom:
        merged = _strategic(document, patch)
    else:
        supported = [JSON, MERGE] if is_custom else [JSON, MERGE, STRATEGIC]
        raise Refused(
            415,
            "the body of the request was in an unknown format - "
            f"accepted media types include: {', '.join(supported)}",
        )
    return dict(merged)


def _strategic(into: object, patch: Any) -> Any:  # noqa: ANN401
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    if patch.get(DIRECTIVE) == "replace":
        return {key: copy.deepcopy(value) for key, value in patch.items() if key != DIRECTIVE}
    merged = dict(into) if isinstance(into, Mapping) else {}
    for key, value in patch.items():
        if key.startswith("$"):
            # kubectl apply also sends orders of items, and fields to keep.
            _apply_directive(merged, key, value)
        elif value is None or (isinstance(value, Mapping) and value.get(DIRECTIVE) == "delete"):
            merged.pop(key, None)
        elif isinstance(value, list):
            merged[key] = _list(key, merged.get(key), value)
        else:
            merged[key] = _strategic(merged.get(key), value)
    return merged


def _apply_directive(merged: Document, key: str, value: Any) -> None:  # noqa: ANN401
    words = key.partition("/")
    if words[0] == "$deleteFromPrimitiveList":
        merged[words[2]] = [each for each in merged.get(words[2], ()) if each not in value]
    elif words[0] == "$retainKeys":
        for name in [each for each in merged if each not in value]:
            del merged[name]
    elif words[0] not in ("$setElementOrder", DIRECTIVE):
        raise Refused(400, f"unknown directive {key} in the patch")


def _list(name: str, into: object, patch: Sequence[Any]) -> list[Any]:
    known = list(into) if isinstance(into, list) else []
    if name in SETS:
        return [*known, *(each for each in patch if each not in known)]
    keys = MERGE_KEYS.get(name, ())
    before = list(known)
    plain = [each for each in patch if not _is_directive(each)]
    if not keys or any(_is_directive(each, "replace") for each in patch):
        return copy.deepcopy(plain)
    for each in patch:
        key = next((key for key in keys if key in each), None)
        if key is None:
            raise Refused(400, f"{name}: an element of the patch has no {keys[0]}")
        at = next((i for i, one in enumerate(known) if one.get(key) == each[key]), None)
        if _is_directive(each, "delete"):
            known = [one for one in known if one.get(key) != each[key]]
        elif at is None:
            known.append(_strategic({}, each))
        else:
            known[at] = _strategic(known[at], each)
    return _in_order(known, plain, before, keys)


def _in_order(
    merged: list[Any], patch: Sequence[Any], before: Sequence[Any], keys: Sequence[str]
) -> list[Any]:
    """Return items in the order of an API server: the items of the patch first.

    Items that were there before keep their order.
    """

    def key_of(element: Any) -> Any:  # noqa: ANN401
        return next((element[key] for key in keys if key in element), None)

    places = {key_of(each): number for number, each in enumerate(before)}
    named = [key_of(each) for each in patch]
    by_key = {key_of(each): each for each in merged}
    first = [by_key[key] for key in named]
    others = [each for each in merged if key_of(each) not in named]
    ordered: list[Any] = []
    while first and others:
        place = places.get(key_of(first[0]))
        behind = place is not None and place > places[key_of(others[0])]
        ordered.append(others.pop(0) if behind else first.pop(0))
    return [*ordered, *first, *others]


def _is_directive(element: object, word: str = "") -> bool:
    found = element.get(DIRECTIVE) if isinstance(element, Mapping) else None
    return found == word if word else found is not None


def _with_operations(document: Document, operations: Any) -> Document:  # noqa: ANN401
    """Return the object after the operations of a JSON patch (RFC 6902)."""
    if not isinstance(operations, list) or not all(isinstance(e, Mapping) for e in operations):
        raise Refused(400, "a JSON patch is a list of operations")
    changed: Any = copy.deepcopy(document)
    for each in operations:
        try:
            changed = _after(changed, each)
        except (KeyError, IndexError, ValueError, TypeError) as error:
            shown = each.get("path", "")
            raise Refused(
                422, f"the server rejected our request due to an error in our request: {shown}"
            ) from error
    return dict(changed)


def _after(document: Any, operation: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return the object after one operation.

    Raises KeyError or a similar error if the path does not exist.
    """
    verb, path = operation["op"], _tokens(operation["path"])
    if verb in ("move", "copy"):
        source = _tokens(operation["from"])
        value = copy.deepcopy(_at(document, source))
        if verb == "move":
            _remove(document, source)
        return _add(document, path, value)
    if verb == "add":
        return _add(document, path, operation["value"])
    if verb == "remove":
        _remove(document, path)
    elif verb == "replace":
        _at(document, path)
        return _add(document, path, operation["value"], replace=True)
    elif verb == "test":
        if _at(document, path) != operation["value"]:
            raise ValueError("the test fails")
    else:
        raise ValueError(f"unknown operation {verb}")
    return document


def _tokens(path: str) -> list[str]:
    if path and not path.startswith("/"):
        raise ValueError(path)
    return [each.replace("~1", "/").replace("~0", "~") for each in path.split("/")[1:]]


def _at(document: Any, tokens: Sequence[str]) -> Any:  # noqa: ANN401
    for each in tokens:
        document = document[int(each)] if isinstance(document, list) else document[each]
    return document


def _add(document: Any, tokens: Sequence[str], value: Any, *, replace: bool = False) -> Any:  # noqa: ANN401
    if not tokens:
        return copy.deepcopy(value)
    parent, last = _at(document, tokens[:-1]), tokens[-1]
    if not isinstance(parent, list):
        parent[last] = copy.deepcopy(value)
    elif replace:
        parent[int(last)] = copy.deepcopy(value)
    else:
        at = len(parent) if last == "-" else int(last)
        if not 0 <= at <= len(parent):
            raise IndexError(last)
        parent.insert(at, copy.deepcopy(value))
    return document


def _remove(document: Any, tokens: Sequence[str]) -> None:  # noqa: ANN401
    parent = _at(document, tokens[:-1])
    del parent[int(tokens[-1]) if isinstance(parent, list) else tokens[-1]]
