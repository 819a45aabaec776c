"""What a pod says, as the model has it. Start with `pod`.

| module            | promise                                                    |
|-------------------|------------------------------------------------------------|
| pod               | the whole pod                                              |
| requests          | the amounts that it uses of a node                         |
| node_requirements | what it asks of a node, interned: equal ones are read once |
| affinity          | affinity, anti-affinity and spread constraints             |
| volumes           | claims and disks that may matter to where it goes          |
| rank              | its rank among the members of its gang                     |
| podsets           | the topology request of its podset, as Kueue defines it    |
"""
