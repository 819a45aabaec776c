"""By what right a gang evicts others, of its own queue and of others. Open `rights.py` first.

| module      | promise                                                                   |
|-------------|---------------------------------------------------------------------------|
| rights      | the class of each victim in the final state, or that a set is illegal     |
| permits     | which classes are possible at all, by policies, vetoes and priorities     |
| positions   | where two queues meet in a tree, and which of them use more than promised |
| claims      | what a gang asks of its queue, and the gangs that may have to go for it   |
| returning   | whether a victim would take back at once what it was evicted for          |
| yielded     | which gangs gave way to which, so that evictions end                      |
| rounds      | the claims of one cycle, on what is charged once leaving pods have left   |
| held_queues | the queues that have gangs on nodes: which a claim need not look into     |
"""
