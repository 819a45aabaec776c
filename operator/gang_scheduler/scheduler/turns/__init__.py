"""Queues take turns: what is tried next, and what it may be charged. Open `by_turns.py` first.

| module       | promise                                                                     |
|--------------|-----------------------------------------------------------------------------|
| by_turns     | one cycle with queues: turns, then surplus, within quota                    |
| within_quota | what a cycle can do with one group, within quota and on its flavors         |
| charging     | what is charged for the decisions so far, and in which flavors              |
| shortages    | what requests lack of quota, found once for those alike                     |
| lines        | the gangs of each queue in order, and which of them are tried in a cycle    |
| open_trees   | the trees in which there may still be quota for a gang that waits           |
| limits       | what a queue demands of a gang, whatever is free                            |
| flavors      | which flavors members of one class can have in a queue                      |
| offers       | the ways to give flavors to all members of a group, and what each charges   |
| requests     | what a group asks of its queue, or why it can never have it                 |
| unplaced     | whether there is quota for pods that do not exist yet                       |
| ledger       | what each group is charged, and the quota that owners keep                  |
"""
