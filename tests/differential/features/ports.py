"""Ports of the host, with addresses and protocols."""

from differential.worlds import Drawn, Feature, Manifest, World, plain

ADDRESSES = ("", "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::")  # noqa: S104 - a value to be compared.
PROTOCOLS = ("TCP", "UDP", "SCTP", "")
PORTS = (80, 443, 8080)


def _claim(world: World, pod: Drawn) -> None:
    numbers = world.dice.sample(PORTS, world.dice.choice([1, 1, 2]))
    where = pod.container
    if world.chance(0.3):
        restart = {"restartPolicy": "Always"} if world.chance(0.6) else {}
        where = {"name": "ports", "image": "none", **restart}
        pod.spec.setdefault("initContainers", []).append(where)
    where["ports"] = [_port(world, number) for number in numbers]


def _port(world: World, number: int) -> Manifest:
    address, protocol = world.dice.choice(ADDRESSES), world.dice.choice(PROTOCOLS)
    return {
        "containerPort": number,
        "hostPort": number,
        **({"hostIP": address} if address else {}),
        **({"protocol": protocol} if protocol else {}),
    }


def _host_network(world: World, pod: Drawn) -> None:
    pod.spec["hostNetwork"] = True
    pod.container["ports"] = [{"containerPort": world.dice.choice(PORTS)}]


FEATURES = (
    Feature("host-ports", plain, _claim),
    Feature("host-network", plain, _host_network),
)
