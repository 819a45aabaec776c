"""Tells users what was decided: statuses, conditions and Events.

| module           | promise                                                      |
|------------------|--------------------------------------------------------------|
| status_writer    | the status of PodGroups, and PodScheduled of pods, coalesced |
| pod_group_status | the status of a PodGroup                                     |
| gang_events      | the Events of gangs and their pods                           |
| left_out_events  | the Events of objects that cannot be read                    |
| events           | Events, at a bounded rate                                    |
| topology_writer  | writes the status of ClusterNetworkTopologies                |
| topology_status  | the status of a ClusterNetworkTopology                       |
| messages         | the words for verdicts                                       |
| cause_texts      | the words for each kind of cause                             |
| backpressure     | lets bindings go first                                       |
"""
