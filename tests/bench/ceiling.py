"""The contestant that decides nothing: it binds pod i to node i, 64 at once, and that is all.

Run as a process of its own, `python -m bench.ceiling URL CA TOKEN GANGS SIZE NODES`, so that its
CPU time can be measured like that of a scheduler.
"""

import asyncio
import ssl
import sys
from collections.abc import Iterator

import aiohttp
import orjson
import uvloop

from bench.shape import NAMESPACE, Shape

IN_FLIGHT = 64


async def bind_all(url: str, ca_file: str, token: str, shape: Shape) -> None:
    """Bind every pod of a shape."""
    tls = ssl.create_default_context(cafile=ca_file)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    connector = aiohttp.TCPConnector(limit=IN_FLIGHT, ssl=tls)
    async with aiohttp.ClientSession(url, connector=connector, headers=headers) as session:
        pods = iter(enumerate(shape.pod_names()))
        async with asyncio.TaskGroup() as workers:
            for _ in range(IN_FLIGHT):
                workers.create_task(_bind(session, pods, shape.nodes))


async def _bind(
    session: aiohttp.ClientSession, pods: Iterator[tuple[int, str]], nodes: int
) -> None:
    for i, name in pods:
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": name},
            "target": {"kind": "Node", "name": f"node-{i % nodes}"},
        }
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{name}/binding"
        async with session.post(path, data=orjson.dumps(binding)) as answer:
            answer.raise_for_status()
            await answer.read()


if __name__ == "__main__":
    address, ca, secret, gangs, size, nodes = sys.argv[1:]
    uvloop.run(bind_all(address, ca, secret, Shape(int(gangs), int(size), int(nodes))))
