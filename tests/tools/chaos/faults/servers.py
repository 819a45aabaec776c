"""API server and etcd end, stand still, and forget what has been."""

import json
import urllib.request

from tools.chaos.faults.fault import PROXIES, SERVERS, Fault

API_SERVER, ETCD, KWOK = "kube-apiserver", "etcd", "kwok"


class KillServer(Fault):
    """Kill -9 of a server, which is started again later."""

    seconds = (0.5, 6.0)
    takes = frozenset({SERVERS})
    component: str

    def begin(self) -> None:
        """Kill it."""
        self.site.plane.stop_component(self.component)

    def end(self) -> None:
        """Start it again, and KWOK, which forgets pods that it could not write to meanwhile."""
        self.site.plane.start_component(self.component)
        self.site.plane.restart(KWOK)


class KillApiServer(KillServer):
    """Kill -9 of the API server."""

    name = "kill -9 of the API server"
    component = API_SERVER


class KillEtcd(KillServer):
    """Kill -9 of etcd."""

    name = "kill -9 of etcd"
    component = ETCD


class RestartApiServer(KillServer):
    """SIGTERM to the API server, as in an update of it."""

    name = "restart of the API server"
    component = API_SERVER
    seconds = (0.0, 0.0)
    weight = 1

    def begin(self) -> None:
        """Ask it to end."""
        self.site.plane.stop_component(self.component, graceful=True)


class StopServer(Fault):
    """SIGSTOP of a server: connections stay open, and nothing is said."""

    seconds = (2.0, 9.0)
    takes = frozenset({SERVERS})
    weight = 1
    component: str

    def begin(self) -> None:
        """Stop it."""
        self._paused = self.site.plane.processes.paused(self.component)
        self._paused.__enter__()

    def end(self) -> None:
        """Let it go on."""
        self._paused.__exit__(None, None, None)


class StopApiServer(StopServer):
    """SIGSTOP of the API server."""

    name = "SIGSTOP of the API server"
    component = API_SERVER


class StopEtcd(StopServer):
    """SIGSTOP of etcd."""

    name = "SIGSTOP of etcd"
    component = ETCD


class Compact(Fault):
    """etcd forgets all that has been, while watches stall, and the API server begins again.

    Then no watch can go on where it was: the history is gone from both.
    """

    name = "compaction"
    seconds = (1.0, 4.0)
    takes = frozenset({SERVERS, PROXIES})

    def begin(self) -> None:
        """Hold back events, so that watches are behind."""
        for proxy in self.site.proxies:
            proxy.flows.clear()

    def end(self) -> None:
        """Compact, start the API server again, and let events flow."""
        self.site.plane.stop_component(API_SERVER)
        self.detail = f"up to revision {self._compact()}"
        self.site.plane.start_component(API_SERVER)
        for proxy in self.site.proxies:
            proxy.flows.set()
        self.site.plane.restart(KWOK)

    def _compact(self) -> int:
        current = self._ask("maintenance/status", {})["header"]["revision"]
        self._ask("kv/compaction", {"revision": current})
        return int(current)

    def _ask(self, path: str, body: dict[str, object]) -> dict[str, dict[str, str]]:
        url = f"http://127.0.0.1:{self.site.plane.site.etcd_port}/v3/{path}"
        request = urllib.request.Request(url, json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            found: dict[str, dict[str, str]] = json.load(answer)
        return found


FAULTS = (KillApiServer, KillEtcd, RestartApiServer, StopApiServer, StopEtcd, Compact)
