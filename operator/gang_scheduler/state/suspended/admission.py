"""What an admission writes into a workload: its queue, its flavors, and what these add."""

from collections.abc import Iterable, Mapping, Sequence

from gang_scheduler.model.plan import Bind, Placed
from gang_scheduler.model.pods import Pod
from gang_scheduler.model.queues import Flavor, Product, QueueRef, QueueSet
from gang_scheduler.model.suspended import Admission, ManagedWorkload, Suspended, TemplateEdit
from gang_scheduler.state.queues.names import annotation_of

Templates = Mapping[str, int]
"""The place of the template of each member, by its uid."""


def of(
    workload: ManagedWorkload,
    placed: Sequence[Placed],
    templates: Templates,
    queue_set: QueueSet | None,
    members: Iterable[Pod],
) -> Admission:
    """Return the admission of a workload whose gangs were placed. `members` are all it has."""
    places = {bind.pod.uid: bind.node for each in placed for bind in each.binds}
    nodes = tuple(places.get(pod.uid, "") for pod in members)
    queue = next((each.gang.queue for each in placed if each.gang.queue is not None), None)
    if queue is None or queue_set is None:
        return Admission(workload, nodes=nodes)
    flavors = dict(
        pair for each in placed for bind in reversed(each.binds) for pair in bind.flavors
    )
    edits = [
        edit
        for each in placed
        if each.gang.suspended is not None
        for edit in _edits(each.gang.suspended, each.binds, templates, (queue, queue_set))
    ]
    ordered = tuple(sorted(flavors.items()))
    return Admission(workload, annotation_of(queue), ordered, tuple(edits), nodes)


def _edits(
    suspended: Suspended,
    binds: Iterable[Bind],
    templates: Templates,
    queues: tuple[QueueRef, QueueSet],
) -> Iterable[TemplateEdit]:
    """Yield what is added to each template, by the flavors of its first member."""
    first: dict[int, Bind] = {}
    for bind in binds:
        first.setdefault(templates.get(bind.pod.uid, 0), bind)
    for place, bind in sorted(first.items()):
        edit = _edit(suspended, place, bind, queues)
        if edit is not None and edit.path:
            yield edit


def _edit(
    suspended: Suspended, place: int, bind: Bind, queues: tuple[QueueRef, QueueSet]
) -> TemplateEdit | None:
    ref, queue_set = queues
    names = dict.fromkeys(name for _, name in bind.flavors)
    found = [each for name in names if (each := _flavor(queue_set, ref.product, name))]
    template = suspended.templates[place]
    own = template.pod_class
    labels = {key: value for each in found for key, value in each.node_labels}
    missing = tuple(sorted(pair for pair in labels.items() if pair not in own.node_selector))
    tolerations = dict.fromkeys(each for flavor in found for each in flavor.tolerations)
    added = tuple(each for each in tolerations if each not in own.tolerations)
    return TemplateEdit(template.path, missing, added) if missing or added else None


def _flavor(queue_set: QueueSet, product: Product, name: str) -> Flavor | None:
    """Return the flavor of that name: the product's own, else another's."""
    named = [each for each in queue_set.flavors if each.name == name]
    return next((each for each in named if each.product is product), next(iter(named), None))


def templates_of(pods: Sequence[Pod], places: Iterable[int]) -> dict[str, int]:
    """Return the places of the templates of members, by their uids."""
    return {pod.uid: place for pod, place in zip(pods, places, strict=True)}
