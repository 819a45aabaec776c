"""Every Kopf handler. Each hands its events on; nothing is ever written back through Kopf.

Only `on.event`: the other kinds of handlers put finalizers and annotations on users' objects.
Kinds whose CRD is absent cost nothing, and are watched from the moment it appears.
"""

from collections.abc import Callable

import kopf

from gang_scheduler.api.kinds import Resource
from gang_scheduler.client.connection import Connection
from gang_scheduler.decode import unreadable
from gang_scheduler.decode.event_handlers import Intake
from gang_scheduler.watch.watched_kinds import WATCHED, Watched

Listed = Callable[[Resource, str], None]


def register(
    registry: kopf.OperatorRegistry, intake: Intake, listed: Listed, connection: Connection
) -> None:
    """Put all handlers into a registry.

    `listed` is called with the kind and the uid of every object that came with a list, before it is
    taken in.
    """
    for kind in WATCHED:
        # Kopf takes a kind without a version for one of the group's preferred version, and that
        # may have no such kind: scheduling.k8s.io/v1 has no PodGroups.
        for resource in kind.versions:
            _watch(registry, resource, kind, intake, listed)

    @kopf.on.login(registry=registry)
    async def login(**_: object) -> kopf.ConnectionInfo:
        return await _credentials(connection)


def _watch(
    registry: kopf.OperatorRegistry,
    resource: Resource,
    kind: Watched,
    intake: Intake,
    listed: Listed,
) -> None:
    @kopf.on.event(*resource, id=resource.plural, registry=registry)
    async def seen(event: kopf.RawEvent, **_: object) -> None:
        if event["type"] is None:
            listed(kind.versions[0], unreadable.identity(event["object"]).uid)
        kind.take(intake, event)


async def _credentials(connection: Connection) -> kopf.ConnectionInfo:
    """Return ours for Kopf, which keeps a session of its own."""
    scheme, _, token = (await connection.authorization()).get("Authorization", "").partition(" ")
    configuration = connection.configuration
    return kopf.ConnectionInfo(
        server=connection.host,
        ca_path=configuration.ssl_ca_cert,
        insecure=not configuration.verify_ssl,
        scheme=scheme or None,
        token=token or None,
        certificate_path=configuration.cert_file,
        private_key_path=configuration.key_file,
    )
