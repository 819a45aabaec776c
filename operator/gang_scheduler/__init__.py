"""A Kubernetes scheduler for gangs of pods: all of them start, close together, or none does.

One way of data, and the folders are its steps:

    Kubernetes -> client -> watch -> decode -> state -> scheduler -> apply -> report -> Kubernetes

| package         | what it holds                                                               |
|-----------------|-----------------------------------------------------------------------------|
| client          | the only door to the API server: requests, their errors, and the Lease      |
| wire            | what is read of each kind of object, as structs                             |
| watch           | keeps up with the API server; misses no deletion                            |
| decode          | objects to nouns of the model; a refusal names the field and the value      |
| state           | what is known now, our own writes included; gives the snapshot of a cycle   |
| model           | frozen nouns: pods, nodes, gangs, topology trees, snapshot, plan            |
| scheduler       | pure verbs, snapshot in, plan out; `cycle.py` is the file to open first     |
| apply           | carries a plan out: binds, evicts, and takes back what cannot be completed  |
| report          | tells users what was decided: statuses, conditions and Events               |
| api             | what users write and read: our CRDs, annotations, kinds and conditions      |
| loop            | wait, snapshot, decide, apply, report                                       |
| queue_reports   | hands the figures of queues to statuses and metrics, now and then           |
| volcano_jobs    | lets Jobs of Volcano have their pods created                                |
| queue_figures   | the figures of queues, with the gangs that wait in them                     |
| largest_gangs   | how large a gang could start now, for metrics                              |
| outcome_handler | takes in what came of bindings and evictions                                |
| app             | owns the parts, and the one task group that they run in                     |
| parts           | builds the parts and joins them                                             |
| settings        | every setting, from flags, environment and chart                            |
| telemetry       | metrics and logs                                                            |
| internal_errors | errors of ours, confined to the gang, pod or object that met them           |
| policy          | what decisions depend on, made of the settings for `app` and `simulation`   |
| probes          | /healthz, /readyz and /metrics                                              |
| beside          | a second thread with an event loop: probes and the Lease must answer always |
| never_ending    | parts that must not end: what ends them is an error, and not silence         |
| watchdog        | tells what holds the event loop up, while it does, from another thread      |
| at_work         | what the main thread works on, to be looked at from another thread          |
| event_loop      | that of uvloop, in which each file descriptor has one owner                 |
| gc_tuning       | when garbage is collected                                                   |
| simulation      | the same core with no cluster: manifests in, decisions out                  |
| inspection      | what is asked of a cluster as it is now: only reads                         |
| audit           | a witness of what the scheduler does: shares no code with what it judges    |
| embedded        | an API server with its objects in memory, for the demo and quick tests      |
| demo            | a story told on a cluster: gangs start, wait, preempt and share             |
| cli             | the command line                                                            |
| checkpoint      | not of the scheduler: what training scripts import in containers of a job   |

Layers (import-linter enforces them; a module imports only from further right):

    cli > demo > audit, embedded, inspection > app, simulation > parts
        > beside, largest_gangs, loop, never_ending, probes, queue_reports, volcano_jobs, watchdog
        > outcome_handler, policy, queue_figures > report > apply, watch > state
        > decode, client > at_work, internal_errors > event_loop, gc_tuning, telemetry > settings
        > wire > scheduler, api > checkpoint, model
"""

__version__ = "0.2.0"
