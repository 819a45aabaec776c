"""For training scripts: when to save a checkpoint, and where to go on after an eviction.

    from gang_scheduler.checkpoint import Checkpoints

    with Checkpoints() as checkpoints:
        model = load(checkpoints.resume.path) if checkpoints.resume.path else Model()
        for step in checkpoints.steps(10_000, save):
            train(model, step)

This runs in the containers of a job and is no part of the scheduler. It needs Python 3.9 and its
standard library alone, not even the rest of this package: the file can be copied beside a script.

An eviction begins with SIGTERM, which asks for a checkpoint. The scheduler may ask earlier, by an
annotation of the pod, which the script reads from a downward API volume if the pod has one. The
saved checkpoint is reported in the termination message of the container and, if there is that
volume, in annotations of the pod.
"""

from __future__ import annotations

import datetime as dt
import enum
import http.client
import json
import logging
import os
import signal
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Python 3.9 has none.
    from typing import Self

DONE_AT = "py-gang-scheduler.io/checkpoint-done-at"
STEP = "py-gang-scheduler.io/checkpoint-step"
PATH = "py-gang-scheduler.io/checkpoint-path"

REQUEST_FILE = "/etc/podinfo/checkpoint-request-id"
TERMINATION_LOG = "/dev/termination-log"
SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"

PATH_CHARACTERS = 1024
"""The scheduler keeps a path of at most this many characters."""
TERMINATION_MESSAGE_BYTES = 4096
"""The kubelet cuts off a longer message."""
ATTEMPTS = 3
PAUSE_SECONDS = 1.0
TIMEOUT_SECONDS = 5.0
ANSWER_BYTES = 4096
TRY_AGAIN = frozenset({429, 500, 502, 503, 504})

logger = logging.getLogger(__name__)


class Due(enum.IntEnum):
    """The result of a step. If ranks differ, the greatest value counts for all."""

    NOTHING = 0
    SAVE = 1
    SAVE_AND_END = 2


class Evicted(SystemExit):
    """Raised when the checkpoint is saved and the pod must end.

    Uncaught, it ends the process with exit code 143 and not 0: after 0 a Job would count the pod as
    succeeded, and not create it again.
    """

    def __init__(self) -> None:
        super().__init__(128 + signal.SIGTERM)


@dataclass(frozen=True)
class Resume:
    """Where a job continues: `step` steps are done and saved at `path`. Empty for a new job.

    A step without a path cannot be resumed from: the job begins again.
    """

    path: str = ""
    step: int = 0
    count: int = 0
    """How often the job has continued from a checkpoint."""


class Checkpoints:
    """The checkpoint requests to one process of a job, and its reports. A context manager.

    `rank` is by default RANK, as torchrun sets it, else JOB_COMPLETION_INDEX, else 0: rank 0
    reports for all. `agree` takes this rank's `Due` and returns the greatest of all ranks; every
    rank calls it equally often, so an all-reduce will do. A job of one process needs none.

    Enter and leave it in the main thread. Inside, SIGTERM requests a checkpoint and does not end
    the process. Raises ValueError if the step in the environment is not a number.
    """

    def __init__(
        self,
        *,
        rank: int | None = None,
        agree: Callable[[int], int] = int,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self.resume = _resume(environ)
        self.known = self.resume.path
        """The checkpoint from which the job surely continues if the pod is lost now."""
        self.rank = _rank(environ) if rank is None else rank
        self.agree = agree
        self._request_file = Path(environ.get("CHECKPOINT_REQUEST_FILE", REQUEST_FILE))
        self._termination_log = Path(environ.get("CHECKPOINT_TERMINATION_LOG", TERMINATION_LOG))
        self._pod = _OwnPod(environ)
        self._terminating = False
        # The id of the last request that was seen, and of the last one that was fulfilled.
        self._request = self._met = ""
        self._last_report: tuple[int, str] | None = None
        self._handler_before: Any = None

    def __enter__(self) -> Self:
        self._handler_before = signal.signal(signal.SIGTERM, self._terminate)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        signal.signal(signal.SIGTERM, self._handler_before)

    def steps(
        self,
        total: int,
        save: Callable[[int], str | os.PathLike[str] | None],
        *,
        every: int | None = None,
        look_every: int = 1,
    ) -> Iterator[int]:
        """Yield the steps that are left of `total`; save after a step when a save is due.

        `save` is called on all ranks with the number of finished steps. It returns where it has put
        the checkpoint, a str or a Path; None: a place from which a later pod cannot continue.

        A save is due on request, and after each `every` steps. All ranks check for a request after
        each `look_every` steps. Raises Evicted after the checkpoint that SIGTERM requested, if
        steps are left.
        """
        for step in range(self.resume.step, total):
            yield step
            done = step + 1
            due = self.due() if done % look_every == 0 or done == total else Due.NOTHING
            if due or (every is not None and done % every == 0):
                self.saved(done, save(done))
            if due is Due.SAVE_AND_END and done < total:
                # No rank may end the others, as launchers do, before rank 0 has reported.
                self.agree(due)
                raise Evicted

    def due(self) -> Due:
        """Return whether all ranks must save, or save and end; each must ask at the same step."""
        self._request = self._read_request()
        if self._terminating:
            own = Due.SAVE_AND_END
        elif self._request not in ("", self._met):
            own = Due.SAVE
        else:
            own = Due.NOTHING
        return Due(self.agree(own))

    def saved(self, step: int, path: str | os.PathLike[str] | None) -> None:
        """Report that `step` steps are done and saved at `path`; only rank 0 reports.

        The last reported checkpoint is not reported again. Without a path nothing is reported, only
        a warning logged: after an eviction, the job would continue from the checkpoint before. A
        failed report is only a warning, too, because the checkpoint itself exists. Raises
        ValueError for a path that is too long to be reported, and TypeError if it is no path.
        """
        self._met = self._request
        if self.rank != 0:
            return
        if path is None:
            logger.warning(
                ("step %s is not reported: it has no path from which a job could continue"), step
            )
            return
        path = os.fspath(path)
        if not isinstance(path, str):
            raise TypeError(f"the path of a checkpoint is not a text: {path!r}")
        message = json.dumps({"checkpoint": {"step": int(step), "path": path}})
        if len(path) > PATH_CHARACTERS or len(message) > TERMINATION_MESSAGE_BYTES:
            raise ValueError(f"the path of a checkpoint has {len(path)} characters: too many")
        if self._last_report == (step, path):
            return
        self._leave(message)
        if self._request_file.parent.is_dir():
            # The pod already has the id of the request that this may answer.
            if not self._pod.annotate({DONE_AT: _now(), STEP: str(step), PATH: path}):
                return
            self.known = path
        self._last_report = (step, path)

    def _terminate(self, _: int, __: FrameType | None) -> None:
        self._terminating = True

    def _read_request(self) -> str:
        try:
            return self._request_file.read_text().strip()
        except FileNotFoundError:
            return ""

    def _leave(self, message: str) -> None:
        # Outside of a container the file does not exist, and is not created.
        if self._termination_log.exists():
            try:
                self._termination_log.write_text(message)
            except OSError as error:
                logger.warning("the termination message cannot be written: %s", error)


class _OwnPod:
    """The pod that this process is in, as the API server has it."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._account = Path(environ.get("CHECKPOINT_SERVICE_ACCOUNT", SERVICE_ACCOUNT))
        self._host = environ.get("KUBERNETES_SERVICE_HOST", "")
        self._port = int(environ.get("KUBERNETES_SERVICE_PORT", "443"))
        # Not HOSTNAME: the pods of an Indexed Job have other host names than names.
        self._name = environ.get("POD_NAME", "")
        self._namespace = environ.get("POD_NAMESPACE", "")

    def annotate(self, annotations: Mapping[str, str]) -> bool:
        """Write annotations with the rights of the pod's ServiceAccount.

        On failure, log a warning and return False.
        """
        if not self._name:
            logger.warning("the checkpoint is not written to the pod: POD_NAME is not set")
            return False
        body = json.dumps({"metadata": {"annotations": dict(annotations)}})
        for attempt in range(1, ATTEMPTS + 1):
            try:
                status, answer = self._patch(body)
            except (OSError, http.client.HTTPException) as error:
                status, answer = 503, repr(error)
            if status < 300:
                return True
            if status not in TRY_AGAIN or attempt == ATTEMPTS:
                break
            time.sleep(PAUSE_SECONDS)
        logger.warning("the checkpoint is not written to pod %s: %s", self._name, answer)
        return False

    def _patch(self, body: str) -> tuple[int, str]:
        # Read each time: the kubelet replaces expired tokens there.
        token = (self._account / "token").read_text().strip()
        namespace = self._namespace or (self._account / "namespace").read_text().strip()
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/merge-patch+json",
        }
        connection = http.client.HTTPSConnection(
            self._host, self._port, timeout=TIMEOUT_SECONDS, context=self._tls()
        )
        try:
            path = f"/api/v1/namespaces/{namespace}/pods/{self._name}"
            connection.request("PATCH", path, body, headers)
            response = connection.getresponse()
            return response.status, response.read(ANSWER_BYTES).decode(errors="replace")
        finally:
            connection.close()

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self._account / "ca.crt"))
        # Python 3.13 refuses the CAs of many clusters, which lack an extension.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        return context


def _resume(environ: Mapping[str, str]) -> Resume:
    step, count = (_number(environ, name) for name in ("RESUME_STEP", "RESUME_COUNT"))
    path = environ.get("RESUME_FROM", "")
    if step and not path:
        logger.warning("RESUME_STEP is %s and RESUME_FROM is empty: the job begins again", step)
        step = 0
    return Resume(path, step, count)


def _rank(environ: Mapping[str, str]) -> int:
    return _number(environ, "RANK" if environ.get("RANK") else "JOB_COMPLETION_INDEX")


def _number(environ: Mapping[str, str], name: str) -> int:
    """Return a variable as a number; 0 if it is not set or empty."""
    text = environ.get(name, "") or "0"
    if not text.isdecimal():
        raise ValueError(f"{name} is no number: {text!r}")
    return int(text)


def _now() -> str:
    """Return the time in RFC 3339, as the API server writes it."""
    return dt.datetime.now(dt.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
