"""A real Prometheus that is asked what panels show and which alerts fire."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import Any, Self

import yaml

from e2e.support.waiting import until
from tools.controlplane import binaries, components
from tools.controlplane.processes import Processes
from tools.dashboards import queries

NAME = "prometheus"
GRACE_SECONDS = 10.0
FOR = "1s"
"""How long each alert waits here, for tests that cannot wait for minutes."""
SHOWN_SECONDS, STEP_SECONDS = 300, 2
Json = dict[str, Any]


class Prometheus:
    """A context manager: leaving it ends the process.

    It scrapes these ports each second and evaluates our rules. Its data are in the directory of the
    processes, where they may lie already; `flags` are further ones of the server.
    """

    def __init__(self, processes: Processes, ports: Sequence[int] = (), *flags: str) -> None:
        self._processes = processes
        self._ports = ports
        self._flags = flags
        self._port = components.free_port()
        self.data = processes.directory / "metrics"

    def __enter__(self) -> Self:
        directory = self._processes.directory
        rules, configuration = directory / "alerts.yaml", directory / "prometheus.yaml"
        rules.write_text(yaml.safe_dump(_impatient()))
        configuration.write_text(yaml.safe_dump(self._configuration()))
        argv = [
            str(binaries.find(NAME)),
            f"--config.file={configuration}",
            f"--storage.tsdb.path={self.data}",
            f"--web.listen-address=127.0.0.1:{self._port}",
            *self._flags,
        ]
        self._processes.start(NAME, argv)
        until(self._is_ready)
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.stop(NAME, GRACE_SECONDS)

    def query(self, expression: str, at: float | None = None) -> list[Json]:
        """Return the samples of an expression at a time, or now; raise HTTPError if refused."""
        moment = {} if at is None else {"time": str(at)}
        found: list[Json] = self._get("query", query=expression, **moment)["result"]
        return found

    def over(self, expression: str, start: float, end: float, step: float) -> list[Json]:
        """Return the series of an expression between two times."""
        times = {"start": str(start), "end": str(end), "step": str(step)}
        found: list[Json] = self._get("query_range", query=expression, **times)["result"]
        return found

    def shown(self, expression: str) -> list[Json]:
        """Return the series that a panel shows of the last minutes, as Grafana asks for them."""
        now = time.time()
        return self.over(expression, now - SHOWN_SECONDS, now, STEP_SECONDS)

    def series(self, selector: str, start: float = 0) -> list[dict[str, str]]:
        """Return the labels of every series that there was, since a time if one is given."""
        times = {"start": str(start)} if start else {}
        found: list[dict[str, str]] = self._get("series", **{"match[]": selector, **times})
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
        self._processes.check()
        try:
            return len(self.query("up == 1")) == len(self._ports)
        except (urllib.error.URLError, OSError):
            return False


def _impatient() -> Json:
    rules = [{**rule, "for": FOR} for rule in queries.alerts()]
    return {"groups": [{"name": "py-gang-scheduler", "rules": rules}]}
