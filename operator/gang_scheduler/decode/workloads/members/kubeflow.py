"""The pods that the training operator would create, as its version 1.9 does."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from gang_scheduler.api.parsing import InvalidField
from gang_scheduler.decode import fields
from gang_scheduler.decode.workloads.kubeflow import (
    JOB_NAME,
    JOB_ROLE,
    OPERATOR,
    REPLICA_INDEX,
    REPLICA_TYPE,
)
from gang_scheduler.decode.workloads.members import bodies
from gang_scheduler.decode.workloads.members.source import Source, required
from gang_scheduler.wire.structs import Count
from gang_scheduler.wire.workloads.kubeflow import ReplicaSpec

MASTER, WORKER, CHIEF = "Master", "Worker", "Chief"
WAITS_FOR_MASTER: Final = bodies.added("init-pytorch")
"""What workers of a PyTorchJob with a master run first."""

Body = Mapping[str, Any]


class Role(NamedTuple):
    """A role: its name as the operator writes it, where it stands, and its pods' template."""

    name: str
    field: str
    replicas: Count | None
    template: Body


class _Kind(NamedTuple):
    """`masters` are the roles of the pods that are marked as masters, else the first worker is."""

    field: str
    roles: tuple[str, ...]
    masters: tuple[str, ...] = (MASTER,)
    first_worker_else: bool = False


_KINDS: Final = {
    "PyTorchJob": _Kind("pytorchReplicaSpecs", (MASTER, WORKER), first_worker_else=True),
    "TFJob": _Kind(
        "tfReplicaSpecs",
        (CHIEF, MASTER, "PS", WORKER, "Evaluator"),
        masters=(CHIEF, MASTER),
        first_worker_else=True,
    ),
    "XGBoostJob": _Kind("xgbReplicaSpecs", (MASTER, WORKER)),
    "PaddleJob": _Kind("paddleReplicaSpecs", (MASTER, WORKER)),
    "JAXJob": _Kind("jaxReplicaSpecs", (WORKER,), masters=(), first_worker_else=True),
}


def job(source: Source) -> Iterator[Body]:
    """Yield the pods of a job of any of these kinds, masters first. Raises InvalidField."""
    kind = _KINDS[source.body["kind"]]
    roles = roles_of(source, kind.field, kind.roles)
    masters = {each.name for each in roles} & set(kind.masters)
    if kind.first_worker_else and not masters:
        masters = {WORKER}
    for role in roles:
        _check_master(role, kind.masters)
        waits = source.body["kind"] == "PyTorchJob" and role.name == WORKER and MASTER in masters
        number = 1 if role.replicas is None else role.replicas
        made = (
            _pod(source, role, i, master=role.name in masters and (role.name != WORKER or not i))
            for i in range(bodies.check_number(number, f"{role.field}.replicas"))
        )
        for each in source.absent(made):
            yield bodies.with_init_container(each, WAITS_FOR_MASTER) if waits else each


def roles_of(
    source: Source, field: str, known: tuple[str, ...], plain: Callable[[str], str] = str.lower
) -> list[Role]:
    """Return the roles in the order of `known`. Raises InvalidField for others, and without any.

    Names are alike that are after `plain`; the operator writes them as its own.
    """
    spec = source.body.get("spec", {})
    if not isinstance(spec, Mapping):
        raise InvalidField("spec", spec, "must be an object")
    specs = spec.get(field)
    required(specs, f"spec.{field}")
    if not isinstance(specs, Mapping):
        raise InvalidField(f"spec.{field}", specs, "must be an object")
    names = {plain(each): each for each in known}
    found = []
    for name, spec in specs.items():
        if plain(name) not in names:
            must = f"must be {' or '.join(known)}"
            raise InvalidField(f"a key of spec.{field}", name, must)
        found.append(_role(names[plain(name)], f"spec.{field}.{name}", spec))
    return sorted(found, key=lambda each: known.index(each.name))


def _role(name: str, field: str, spec: object) -> Role:
    if not isinstance(spec, Mapping):
        raise InvalidField(field, spec, "must be an object")
    try:
        read = fields.read(spec, ReplicaSpec)
    except InvalidField as error:
        raise InvalidField(f"{field}.{error.field}", error.value, error.problem) from error
    bodies.check_template(
        read.template, f"{field}.template", given=bool(read.template.spec.containers)
    )
    return Role(name, field, read.replicas, spec["template"])


def _check_master(role: Role, masters: tuple[str, ...]) -> None:
    if role.name in masters and role.replicas not in (None, 1):
        raise InvalidField(f"{role.field}.replicas", role.replicas, "must be 1")


def _pod(source: Source, role: Role, index: int, *, master: bool) -> Body:
    role_name = role.name.lower()
    labels = {
        OPERATOR: f"{source.body['kind'].lower()}-controller",
        JOB_NAME: source.name,
        REPLICA_TYPE: role_name,
        REPLICA_INDEX: str(index),
        **({JOB_ROLE: "master"} if master else {}),
    }
    return bodies.pod(source.body, role.template, f"{source.name}-{role_name}-{index}", labels)
