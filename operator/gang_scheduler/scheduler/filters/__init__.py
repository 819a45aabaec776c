"""What makes a node refuse a pod. One policy a file, named after the upstream plugin it follows.

| module              | promise                                                      |
|---------------------|--------------------------------------------------------------|
| bound_volumes       | volumes of bound claims are reached from the node            |
| declared_features   | the node declares the features that a pod needs of a kubelet |
| host_ports          | no two pods of a node claim the same port of the host        |
| inter_pod_affinity  | required affinity and anti-affinity between pods             |
| node_affinity       | nodeSelector and required node affinity                      |
| readiness           | the node is Ready                                            |
| refused_shapes      | the kubelet has not lately refused such a pod                |
| resources           | requests fit what is free                                    |
| spare_nodes         | the node is not kept for members that replace lost ones      |
| taints              | taints NoSchedule and NoExecute are tolerated                |
| topology_spread     | spread constraints with DoNotSchedule                        |
| unschedulable       | the node is not cordoned                                     |
| volume_binding      | unbound claims find a volume, or a new one can be made       |
| volume_limits       | volumes a node for each CSI driver                           |
| volume_restrictions | claims for one pod, disks for one node                       |
| volume_zone         | zones and regions of volumes                                 |

Each has its own reasons: the words behind "0/12 nodes are available:", which are kube-scheduler's.
"""
