"""Runs the policies of a replay, each in its own process as far as there are cores."""

import contextlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from gang_scheduler import gc_tuning
from gang_scheduler.model.nodes import Node
from gang_scheduler.replay import document, operator_cycles
from gang_scheduler.replay.jobs import Trace
from gang_scheduler.replay.measures import NO_QUEUE, Measures
from gang_scheduler.replay.moves import MovedMeasures, Moves
from gang_scheduler.replay.operator_cycles import Operator
from gang_scheduler.replay.pod_by_pod import PodByPod
from gang_scheduler.replay.run import Decided, Decides, Replay, Rules
from gang_scheduler.replay.scenarios import Scenario

PROGRESS_SECONDS: Final = 0.2
"""A process reports its progress at most this often, in seconds."""


@dataclass(frozen=True, slots=True)
class PolicyProgress:
    """The progress of a policy: the seconds since the begin, and numbers of jobs."""

    policy: str
    seconds: int
    started: int
    waiting: int


@dataclass(frozen=True, slots=True)
class Done:
    """The result of one policy. `cpu_seconds` is the CPU time of its cycles, for no document."""

    document: dict[str, Any]
    cpu_seconds: tuple[float, ...]
    failures: int = 0
    moves: Moves | None = None


Tell = Callable[[PolicyProgress], None]


class Timed:
    """A scheduler whose cycles are timed."""

    def __init__(self, decides: Decides) -> None:
        self._decides = decides
        self.come, self.go, self.forget = decides.come, decides.go, decides.forget
        self.node, self.next_wake = decides.node, decides.next_wake
        self.cpu_seconds: list[float] = []

    def cycle(self, now: int) -> Decided:
        """Decide once."""
        began = time.process_time()
        decided = self._decides.cycle(now)
        self.cpu_seconds.append(time.process_time() - began)
        return decided


def replayed(
    trace: Trace, scenario: Scenario, rules: Rules, tell: Tell, *, with_moves: bool = False
) -> Done:
    """Return the result of one policy; after Ctrl-C, its figures so far."""
    made = made_of(trace, scenario, rules, tell, MovedMeasures if with_moves else Measures)
    with _interrupted(made.replay.stop):
        made.replay.run()
    made.replay.close()
    result = document.of_policy(scenario, made.replay, trace)
    failures = made.decides.failures if isinstance(made.decides, Operator) else 0
    moves = None
    if isinstance(measures := made.replay.measures, MovedMeasures):
        moves = measures.found(scenario.name, made.domains, dated=trace.dated)
    return Done(result, tuple(made.timed.cpu_seconds), failures, moves)


@dataclass(frozen=True, slots=True)
class Made:
    """A replay that is ready to run, and the scheduler in it; `domains` are those of nodes."""

    replay: Replay
    decides: Decides
    timed: Timed
    domains: Mapping[str, str]


def made_of(
    trace: Trace,
    scenario: Scenario,
    rules: Rules,
    tell: Tell,
    measuring: type[Measures] = Measures,
) -> Made:
    """Return the replay of one policy."""
    gpu = operator_cycles.gpu_of(scenario)
    by_gpu = any(job.gpu for job in trace.jobs)
    resource = gpu if by_gpu else "cpu"
    nodes = scenario.nodes
    amounts = {node.name: dict(node.allocatable).get(resource, 0) for node in nodes}
    queues = sorted({job.queue or NO_QUEUE for job in trace.jobs})
    measures = measuring(queues, amounts, trace.begin, by_gpu=by_gpu)
    decides: Decides
    labels: tuple[str, ...] = ()
    if scenario.pod_by_pod:
        decides = PodByPod(nodes, gpu, operator_cycles.types_of(nodes))
    else:
        operator = decides = Operator(scenario, rules)
        labels = operator.layer_labels()
    timed = Timed(decides)
    names = [node.name for node in nodes]
    watch = _watch(scenario.name, trace.begin, tell)
    domains = _domains(nodes, labels)
    replay = Replay(
        *(trace.jobs, timed, measures, rules),
        domain_of=lambda found: len({domains[name] for name in found}),
        watch=watch,
        nodes=names,
        changes=scenario.changes,
    )
    return Made(replay, decides, timed, domains)


def _domains(nodes: Sequence[Node], labels: Sequence[str]) -> dict[str, str]:
    """Return the domain of each node; a node without a label is a domain."""
    return {
        node.name: next((node.labels[key] for key in labels if key in node.labels), node.name)
        for node in nodes
    }


def _watch(name: str, begin: int, tell: Tell) -> Callable[[int, int, int], None]:
    reported = 0.0

    def watch(now: int, started: int, waiting: int) -> None:
        nonlocal reported
        at = time.monotonic()
        if at >= reported + PROGRESS_SECONDS:
            reported = at
            tell(PolicyProgress(name, now - begin, started, waiting))

    return watch


@contextlib.contextmanager
def _interrupted(stop: Callable[[], None]) -> Iterator[None]:
    """Let the first Ctrl-C stop the replay in order: an exception could break off a message."""

    def stopped(*_: object) -> None:
        stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = signal.signal(signal.SIGINT, stopped)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def compare(
    trace: Trace,
    scenarios: Sequence[Scenario],
    rules: Rules,
    cores: int,
    tell: Tell,
    *,
    with_moves: bool = False,
) -> list[Done]:
    """Return the results of the policies, in their order; of a single one, with its moves."""
    if len(scenarios) == 1:
        return [replayed(trace, scenarios[0], rules, tell, with_moves=with_moves)]
    context = multiprocessing.get_context("fork")
    found: dict[int, Done] = {}
    running: dict[Any, tuple[int, multiprocessing.process.BaseProcess]] = {}
    waiting = list(enumerate(scenarios))
    # The processes get Ctrl-C, too, and send their figures. No other process is begun.
    with _interrupted(waiting.clear):
        while waiting or running:
            while waiting and len(running) < cores:
                place, scenario = waiting.pop(0)
                ours, theirs = context.Pipe(duplex=False)
                process = context.Process(
                    target=_in_process, args=(theirs, trace, scenario, rules), daemon=True
                )
                process.start()
                theirs.close()
                running[ours] = place, process
            for ready in wait(list(running)):
                _receive(ready, running, found, tell)  # type: ignore[arg-type]  # Ours are pipes.
    return [found[place] for place in sorted(found)]


def _receive(
    ready: Connection,
    running: dict[Any, tuple[int, multiprocessing.process.BaseProcess]],
    found: dict[int, Done],
    tell: Tell,
) -> None:
    try:
        said = ready.recv()
    except EOFError:
        _, process = running.pop(ready)
        process.join()
        raise RuntimeError(f"a process of the replay ended with {process.exitcode}") from None
    if isinstance(said, PolicyProgress):
        tell(said)
        return
    place, process = running.pop(ready)
    process.join()
    if isinstance(said, BaseException):
        raise said
    found[place] = said


def _in_process(pipe: Connection, trace: Trace, scenario: Scenario, rules: Rules) -> None:
    gc_tuning.collect_rarely()
    try:
        pipe.send(replayed(trace, scenario, rules, pipe.send))
    except Exception as error:  # The process that asked raises it.
        pipe.send(error)
    pipe.close()
