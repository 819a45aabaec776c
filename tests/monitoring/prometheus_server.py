"""A real Prometheus beside a control plane: it scrapes, evaluates our rules, and is asked."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import Any, Self

import yaml

from e2e.support.waiting import until
from tools import controlplane
from tools.controlplane import binaries, components
from tools.dashboards import queries

NAME = "prometheus"
GRACE_SECONDS = 10.0
FOR = "1s"
"""How long each alert waits here, for tests that cannot wait for minutes."""
SHOWN_SECONDS, STEP_SECONDS = 300, 2
Json = dict[str, Any]


class Prometheus:
    """A context manager: leaving it ends the process; its data are in the plane's directory."""

    def __init__(self, cluster: controlplane.Cluster, ports: Sequence[int]) -> None:
        self._cluster = cluster
        self._ports = ports
        self._port = components.free_port()

    def __enter__(self) -> Self:
        directory = self._cluster.processes.directory / NAME
        directory.mkdir()
        (directory / "alerts.yaml").write_text(yaml.safe_dump(_impatient()))
        (directory / "prometheus.yaml").write_text(yaml.safe_dump(self._configuration()))
        argv = [
            str(binaries.find(NAME)),
            f"--config.file={directory / 'prometheus.yaml'}",
            f"--storage.tsdb.path={directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{self._port}",
        ]
        self._cluster.processes.start(NAME, argv)
        until(self._is_ready)
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.processes.stop(NAME, GRACE_SECONDS)

    def query(self, expression: str) -> list[Json]:
        """Return the samples of an expression now; raise HTTPError where it is refused."""
        found: list[Json] = self._get("query", query=expression)["result"]
        return found

    def shown(self, expression: str) -> list[Json]:
        """Return the series that a panel shows of the last minutes, as Grafana asks for them."""
        now = time.time()
        times = {"start": str(now - SHOWN_SECONDS), "end": str(now), "step": str(STEP_SECONDS)}
        found: list[Json] = self._get("query_range", query=expression, **times)["result"]
        return found

    def series(self, selector: str) -> list[dict[str, str]]:
        """Return the labels of every series that there was."""
        found: list[dict[str, str]] = self._get("series", **{"match[]": selector})
        return found

    def rules(self) -> list[Json]:
        """Return the alerts with their health and state."""
        return [rule for group in self._get("rules")["groups"] for rule in group["rules"]]

    def firing(self) -> set[str]:
        """Return the names of alerts that fire."""
        return {rule["name"] for rule in self.rules() if rule["state"] == "firing"}

    def _configuration(self) -> Json:
        targets = [f"127.0.0.1:{port}" for port in self._ports]
        where = {"targets": targets, "labels": {"namespace": "gangs"}}
        return {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": ["alerts.yaml"],
            "scrape_configs": [{"job_name": "py-gang-scheduler", "static_configs": [where]}],
        }

    def _get(self, what: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        url = f"http://127.0.0.1:{self._port}/api/v1/{what}?{query}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def _is_ready(self) -> bool:
        self._cluster.processes.check()
        try:
            return len(self.query("up == 1")) == len(self._ports)
        except (urllib.error.URLError, OSError):
            return False


def _impatient() -> Json:
    rules = [{**rule, "for": FOR} for rule in queries.alerts()]
    return {"groups": [{"name": "py-gang-scheduler", "rules": rules}]}
