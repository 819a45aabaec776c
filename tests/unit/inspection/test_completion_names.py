"""Names of objects, for shells that complete one."""

from collections.abc import Sequence

from gang_scheduler.api.kinds import POD_GROUPS, PODS, QUEUES
from gang_scheduler.client.connection import Connection
from gang_scheduler.inspection import completion_names
from gang_scheduler.inspection.servers import Server
from support.listing_server import Body, ListingServer, listed

POD = {
    "metadata": {
        "name": "p",
        "namespace": "a",
        "labels": {"pod-group.scheduling.sigs.k8s.io": "named"},
    },
    "spec": {"schedulerName": "py-gang-scheduler", "containers": [{"name": "c"}]},
}


async def test_gangs_are_those_of_objects_and_of_pods() -> None:
    answers: dict[str, Sequence[Body] | int] = {
        POD_GROUPS.path("a"): listed({"metadata": {"name": "train", "namespace": "a"}}),
        PODS.path("a"): listed(POD),
        QUEUES.path(): 403,
    }
    async with ListingServer(answers) as listing, Connection(listing.configuration) as connection:
        server = Server(connection, "a")
        assert {"train", "named"} == await completion_names.gangs(server, "a", 10)
        assert () == await completion_names.queues(server, "", 10)
