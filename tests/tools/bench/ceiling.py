"""The contestant that decides nothing: it binds pod i to node i, 64 at once, and that is all.

Run as a process of its own, `python -m tools.bench.ceiling URL CA TOKEN GANGS SIZE NODES`, so that
its CPU time can be measured like that of a scheduler.
"""

import ssl
import sys
from collections.abc import Iterator
from http import HTTPStatus

import anyio
import msgspec
import uvloop

from gang_scheduler.client.address import Address
from gang_scheduler.client.http1 import Client
from tools.bench.shape import NAMESPACE, Shape

IN_FLIGHT = 64
SECONDS = 30.0


async def bind_all(url: str, ca_file: str, token: str, shape: Shape) -> None:
    """Bind every pod of a shape, over the scheduler's own client: the upper bound."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    address = Address.of(url, ssl.create_default_context(cafile=ca_file))
    client = Client(address, headers, IN_FLIGHT)
    pods = iter(enumerate(shape.pod_names()))
    async with anyio.create_task_group() as workers:
        for _ in range(IN_FLIGHT):
            workers.start_soon(_bind, client, pods, shape.nodes)
    await client.close()


async def _bind(client: Client, pods: Iterator[tuple[int, str]], nodes: int) -> None:
    for i, name in pods:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": f"node-{i % nodes}"},
        }
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/binding"
        answer = await client.ask("POST", path, {}, msgspec.json.encode(binding), SECONDS)
        if answer.status != HTTPStatus.CREATED:
            raise RuntimeError(f"{name}: {answer.status} {answer.reason}")


if __name__ == "__main__":
    server, ca, secret, gangs, size, nodes = sys.argv[1:]
    uvloop.run(bind_all(server, ca, secret, Shape(int(gangs), int(size), int(nodes))))
