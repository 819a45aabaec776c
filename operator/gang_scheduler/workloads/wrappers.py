"""AppWrappers: the queue that they name, and the objects that they wrap."""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import field

from gang_scheduler.api.annotations import APP_WRAPPER_LABEL
from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode.reader import Unreadable
from gang_scheduler.wire.base import MetadataOnly, Wire
from gang_scheduler.workloads import controllers, queue_namers
from gang_scheduler.workloads.controllers import Phase, Source, part, required
from gang_scheduler.workloads.kind import Body, Kind, served


class _Component(Wire, frozen=True):
    template: dict[str, Any] | None = None


class _Spec(Wire, frozen=True):
    components: list[_Component] = field(default_factory=list)


class _Wrapper(Wire, frozen=True):
    spec: _Spec = _Spec()


def app_wrapper(source: Source) -> Iterator[Body]:
    """Yield the objects that an AppWrapper wraps, with its label on their pod templates.

    Raises InvalidField that names the field and the value.
    """
    for i, each in enumerate(source.read(_Wrapper).spec.components):
        where = f"spec.components[{i}].template"
        if each.template is None:
            raise InvalidField(where, None, "is required")
        for name in ("kind", "apiVersion"):
            required(each.template.get(name), f"{where}.{name}")
        metadata = each.template.get("metadata", {})
        if not isinstance(metadata, Mapping) or not metadata.get("name"):
            raise InvalidField(f"{where}.metadata.name", None, "is required")
        label = {APP_WRAPPER_LABEL: source.name}
        own = {**metadata, **controllers.owned(source.body, str(metadata["name"]))}
        yield {
            **_labelled(each.template, label),
            "metadata": {**own, "labels": {**label, **part(metadata, "labels")}},
        }


def _labelled(value: Any, label: Mapping[str, str]) -> Any:  # noqa: ANN401 - any JSON value.
    """Return a value with the label in all pod templates inside it."""
    if isinstance(value, list):
        return [_labelled(each, label) for each in value]
    if not isinstance(value, Mapping):
        return value
    inside = {key: _labelled(each, label) for key, each in value.items()}
    spec = value.get("spec")
    if not (isinstance(spec, Mapping) and isinstance(spec.get("containers"), list)):
        return inside
    labels = {**label, **part(value, "metadata", "labels")}
    return {**inside, "metadata": {**part(value, "metadata"), "labels": labels}}


KIND: Final = Kind(
    name=queue_namers.APP_WRAPPER,
    versions=served("appwrappers.workload.codeflare.dev", "v1beta2"),
    struct=MetadataOnly,
    read=functools.partial(queue_namers.read_queue_namer, queue_namers.APP_WRAPPER),
    if_unreadable=Unreadable.KEEP,
    names_queues=True,
    creates=app_wrapper,
    controller=APP_WRAPPER_LABEL,
    phase=Phase.until(
        *("phase", "Suspending", "Resetting", "Terminating", "Succeeded", "Failed"),
    ),
)
