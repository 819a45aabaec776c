"""An independent witness: what the API server has shown of pods, and whether gangs were whole.

It runs in a thread, survives lost connections and restarts of the API server, and shares no code
with the product: not even an HTTP library.
"""

import dataclasses
import http.client
import math
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any, Self

import msgspec

from tools.controlplane import access, errors, wholeness
from tools.controlplane.cluster import Cluster
from tools.controlplane.wholeness import PodEvent, Violation

GANG_LABELS = ("pod-group.scheduling.sigs.k8s.io", "scheduling.x-k8s.io/pod-group")
SETTLE_SECONDS = 5.0
POLL_SECONDS = 0.05
RECONNECT_SECONDS = 0.2
FIRST_LIST_SECONDS = 30.0
# The server sends a bookmark about once a minute, so a longer silence is a dead connection.
SILENCE_SECONDS = 150.0


class Watcher:
    """Watch the pods of one namespace, or of all, from `with` to its end.

    A gang is called by the value of its label; where all namespaces are watched, by
    namespace/label, and a pod by namespace/name. Times stand still while there is no connection,
    since then a scheduler cannot act either. After the `with` block the record stays readable.
    """

    def __init__(self, cluster: Cluster, namespace: str | None = None) -> None:
        self.history: list[PodEvent] = []
        self._access: access.Access = cluster.access
        self._namespace = namespace
        self._latest: dict[str, PodEvent] = {}
        self._version = ""  # empty: list first
        self._clock = _PausableClock()
        self._lock = threading.Lock()
        self._listed = threading.Event()
        self._failure: Exception | None = None
        self._stopping = threading.Event()
        self._client: access.Client | None = None
        self._thread = threading.Thread(target=self._run, name="watcher", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._listed.wait(FIRST_LIST_SECONDS):
            self.stop()
            raise errors.ControlPlaneError("the watcher got no list of pods")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the watch; the record stays. May be called twice."""
        self._stopping.set()
        while self._thread.is_alive():
            # In a loop: between two connections there is nothing to interrupt.
            if self._client:
                self._client.interrupt()
            self._thread.join(POLL_SECONDS)

    @property
    def states(self) -> dict[str, PodEvent]:
        """The latest state of every pod that exists, by name."""
        self._check()
        with self._lock:
            return {pod.name: pod for pod in self._latest.values()}

    def bound(self, gang: str) -> dict[str, str]:
        """Return the node of every member that is bound now, by name of the pod."""
        return {pod.name: pod.node for pod in self.states.values() if pod.gang == gang and pod.node}

    def ever_bound(self, gang: str) -> set[str]:
        """Name the members that were bound at any time; empty for a gang that was refused."""
        return {event.name for event in self._record() if event.gang == gang and event.bound}

    def partial_gangs(
        self, min_members: Mapping[str, int], settle_seconds: float = SETTLE_SECONDS
    ) -> list[Violation]:
        """Return the gangs that were bound only in part for longer than the bound.

        A spell that lasts still is waited for until it is either over or too long; so this
        returns at once when all is well, and within settle_seconds of connected time otherwise.
        """
        deadline = time.monotonic() + settle_seconds + FIRST_LIST_SECONDS
        while True:
            # The clock first: what the record holds then is no younger than this.
            now = self._clock.now()
            spells = list(wholeness.spells(self._record(), min_members))
            if not any(wholeness.is_undecided(spell, now, settle_seconds) for spell in spells):
                return wholeness.violations(spells, now, settle_seconds)
            if not self._thread.is_alive():
                # It will never be known, and a gang that was left in part counts as one.
                return wholeness.violations(spells, math.inf, settle_seconds)
            if time.monotonic() > deadline:
                raise errors.ControlPlaneError("the watcher has no connection")
            time.sleep(POLL_SECONDS)

    def wait_until(
        self, is_true: Callable[["Watcher"], bool], timeout_seconds: float = 30.0
    ) -> None:
        """Wait until the record shows something; else raise TimeoutError with all pods."""
        deadline = time.monotonic() + timeout_seconds
        while not is_true(self):
            if time.monotonic() > deadline:
                pods = "\n".join(f"  {pod}" for pod in self.states.values())
                raise TimeoutError(f"not seen in {timeout_seconds} s; the pods are:\n{pods}")
            time.sleep(POLL_SECONDS)

    def _record(self) -> list[PodEvent]:
        self._check()
        with self._lock:
            return list(self.history)

    def _check(self) -> None:
        if self._failure:
            # A watcher that broke down must not be taken for one that saw no change.
            raise errors.ControlPlaneError("the watcher broke down") from self._failure

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self._watch_once()
        except Exception as error:  # Kept for the next caller that asks for the record.
            self._failure = error
        finally:
            self._clock.pause()

    def _watch_once(self) -> None:
        """List where needed, then watch until the connection ends."""
        try:
            with access.Client(self._access, SILENCE_SECONDS) as self._client:
                if not self._version:
                    self._list(self._client)
                self._watch(self._client)
        except access.RefusedError:
            # Mostly "too old resource version": whatever it is, a new list puts it right.
            self._version = ""
            self._stopping.wait(RECONNECT_SECONDS)
        except (OSError, http.client.HTTPException):
            self._clock.pause()
            self._stopping.wait(RECONNECT_SECONDS)

    def _list(self, client: access.Client) -> None:
        listing = client.request("GET", self._path()).check().body
        self._clock.resume()
        there = {pod["metadata"]["uid"] for pod in listing["items"]}
        for lost in [pod for uid, pod in self._latest.items() if uid not in there]:
            # Deleted while no watch was open.
            self._remember(_gone(lost, self._clock.now()))
        for pod in listing["items"]:
            self._remember(self._decode(pod, gone=False))
        self._version = listing["metadata"]["resourceVersion"]
        self._listed.set()

    def _watch(self, client: access.Client) -> None:
        query = {"watch": 1, "allowWatchBookmarks": "true", "resourceVersion": self._version}
        lines = client.lines(f"{self._path()}?{urllib.parse.urlencode(query)}")
        self._clock.resume()
        for line in lines:
            self._take(msgspec.json.decode(line))

    def _take(self, event: dict[str, Any]) -> None:
        if event["type"] == "ERROR":
            raise access.RefusedError(event["object"]["code"], event["object"])
        if event["type"] != "BOOKMARK":
            self._remember(self._decode(event["object"], gone=event["type"] == "DELETED"))
        self._version = event["object"]["metadata"]["resourceVersion"]

    def _remember(self, event: PodEvent) -> None:
        with self._lock:
            self.history.append(event)
            if event.gone:
                self._latest.pop(event.uid, None)
            else:
                self._latest[event.uid] = event

    def _path(self) -> str:
        return f"/api/v1/namespaces/{self._namespace}/pods" if self._namespace else "/api/v1/pods"

    def _decode(self, pod: dict[str, Any], *, gone: bool) -> PodEvent:
        metadata = pod["metadata"]
        labels = metadata.get("labels", {})
        gang = next((labels[key] for key in GANG_LABELS if key in labels), None)
        return PodEvent(
            name=self._qualified(metadata, metadata["name"]),
            uid=metadata["uid"],
            gang=gang and self._qualified(metadata, gang),
            node=pod["spec"].get("nodeName"),
            phase=pod["status"].get("phase", "Unknown"),
            deleting="deletionTimestamp" in metadata,
            gone=gone,
            resource_version=metadata["resourceVersion"],
            received_at=self._clock.now(),
        )

    def _qualified(self, metadata: dict[str, Any], name: str) -> str:
        return name if self._namespace else f"{metadata['namespace']}/{name}"


class _PausableClock:
    """Seconds of connected time since the first connection."""

    def __init__(self) -> None:
        self._elapsed = 0.0
        self._resumed_at: float | None = None

    def now(self) -> float:
        resumed_at = self._resumed_at
        return self._elapsed + (0.0 if resumed_at is None else time.monotonic() - resumed_at)

    def pause(self) -> None:
        self._elapsed, self._resumed_at = self.now(), None

    def resume(self) -> None:
        if self._resumed_at is None:
            self._resumed_at = time.monotonic()


def _gone(pod: PodEvent, now: float) -> PodEvent:
    return dataclasses.replace(pod, gone=True, received_at=now)
