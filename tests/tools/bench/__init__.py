"""How fast gangs are bound on a real API server, beside the fastest that anyone could be.

    python -m tools.bench                       250 gangs of 20 on 1,000 nodes
    python -m tools.bench --gangs 20 --size 250 --nodes 5000 --json build/some.json
    python -m tools.bench.report build/some.json --images docs/images

Every contestant gets a control plane of its own, without KWOK and with priority and fairness off.
All pods exist before it starts, so what is measured is the way from pending to bound ("drain"), or
they come at a steady rate while it runs ("live"). Figures come from the audit log and from /proc.
They never pass or fail: on two cores the API server and the scheduler compete, so compare
contestants of one run.

| module      | what                                                                  |
|-------------|-----------------------------------------------------------------------|
| shape       | how many gangs of how many pods on how many nodes, and what they ask  |
| gangs       | the same gangs in the words of each contestant                        |
| population  | creating nodes and gangs, at once or at a rate                        |
| contestants | the schedulers that are measured                                      |
| ceiling     | the contestant that only binds: what the API server takes             |
| run         | one contestant on a fresh control plane: the figures                  |
| final_state | whether everything is as it should be in the end                      |
| results     | what was measured, as JSON, with the machine and the versions         |
| report      | the same to be read by people, from                                   |
| tables      | Markdown and                                                          |
| charts      | SVG                                                                   |

Programs of their own, `python -m tools.bench.MODULE`, for one question each:

| module      | what                                                                  |
|-------------|-----------------------------------------------------------------------|
| decide      | how long one gang in a network takes to decide; no API server         |
| preempt     | how long it takes to decide on victims; no API server                 |
| growth      | how a cycle's cost grows with nodes, waiting gangs and running pods   |
| queues      | what a cycle costs with many queues, beside the same without           |
| suspended   | what it costs that many Jobs wait suspended in queues                 |
| reclaim     | what a cycle costs in which all that waits may evict from others      |
| starvation  | one big gang among small jobs, with and without a reservation         |
| ingest      | the CPU that each source takes for an event of a pod                  |
| listing     | `list` of many gangs, from bytes to lines                             |
| replay      | the CPU and the memory of a replay                                    |
| policies    | our own policies on jobs like those of large training clusters        |
| start       | a start in a large cluster, and the cost of having nothing to do      |
| snapshots   | how long a snapshot of a large cluster takes; no API server           |
| closure     | a gang that needs whole nodes which many gangs share, with evictions  |
"""
