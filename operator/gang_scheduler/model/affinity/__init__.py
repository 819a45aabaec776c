"""What pods say of nodes, and of other pods, by labels.

| module       | promise                                                    |
|--------------|------------------------------------------------------------|
| requirements | expressions of node selectors and label selectors          |
| node_terms   | which nodes the terms of a node selector match             |
| pod_affinity | affinity, anti-affinity and spread constraints of a pod    |
"""
