"""Which gang comes first, one policy a file: without queues, and between the queues of a tree.

| module            | promise                                                           |
|-------------------|-------------------------------------------------------------------|
| priority_then_age | priority, then groups with a partially bound gang, then their age |
| queue_turns       | which queue has its turn, by the fairness of its tree             |
| priority          | fewest levels up for quota, then priority; all queues in one line |
| drs               | a tournament by what is borrowed of what could be lent            |
| drf               | a tournament by what is held of all that is promised              |
| fair_share        | a tournament by what is held of the fair share                    |
| local_usage       | in one queue: which LocalQueue used least of late                 |
"""
