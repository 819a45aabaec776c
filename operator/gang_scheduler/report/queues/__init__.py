"""What is said of queues, from figures that are handed over.

| module            | promise                                                     |
|-------------------|-------------------------------------------------------------|
| queue_status      | the status of a Queue                                       |
| queue_writer      | writes the status of our Queues                             |
| queue_places      | the places of gangs that wait, now and then                 |
| reservation_texts | the start that a gang is promised                           |
| queue_notes       | fields without effect, and quotas that are not enforced     |
| unknown_names     | names of queues and resources that nothing is called by     |
| queue_metrics     | metrics by queue, of a bounded number of queues             |
| evictions         | which gangs were evicted for which, in names                |
| eviction_writer   | writes that into PodGroups before pods are deleted          |
"""
