"""docs/marks.md, made of the table of keys of other products."""

from collections.abc import Iterator
from typing import Final

from gang_scheduler.decode.foreign_marks import MARKS, Mark, Verdict

HEAD: Final = """# Marks of other products

This page lists labels and annotations of other schedulers and controllers. People often leave
them on pods, pod templates and workloads when they move over.

- If a key asks for a place, a device or a limit that this scheduler cannot provide, it is refused:
  the pod, or its whole gang, waits with `UnsupportedFeature`. The message names the key and what to
  write instead. Otherwise the pods would run without what they asked for.
- If another controller acts on a key, or the key is only for accounting, it is passed over.

A key counts both as a label and as an annotation. On a Job, JobSet, StatefulSet or another
[kind of job](kinds/README.md) it counts for all of its pods. Keys on a Deployment, ReplicaSet or
DaemonSet are not read, only those on its pods; `simulate` names keys on such an object that have
no effect.

This page is generated from the table in the code: `make pages` writes it again.
"""
TITLES: Final = {
    Verdict.REFUSED: "Refused",
    Verdict.NAMES_A_GANG: "Refused on a pod that is in no gang here",
    Verdict.READ: "Read",
    Verdict.PASSED_OVER: "Passed over",
}


def text() -> str:
    """Return the page."""
    return "\n".join([HEAD, *_tables()])


def _tables() -> Iterator[str]:
    for verdict, title in TITLES.items():
        yield f"## {title}\n"
        yield "| key | of | why |"
        yield "|---|---|---|"
        yield from (_row(each) for each in MARKS if each.verdict is verdict)
        yield ""


def _row(mark: Mark) -> str:
    harmless = " or ".join(f"`{each}`" for each in sorted(mark.harmless))
    excused = [f"allowed with the value {harmless}"] if harmless else []
    if mark.unless is not None:
        excused.append("allowed together with `{}: {}`".format(*mark.unless))
    if mark.instead:
        excused.append("allowed together with the key to write instead")
    if mark.read_for:
        excused.append("read on a PodGroup of Volcano")
    return f"| `{mark.key}` | {mark.product} | {'; '.join([mark.why, *excused])} |"
