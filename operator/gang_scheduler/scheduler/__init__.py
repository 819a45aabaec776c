"""Pure verbs: a snapshot in, a plan out. Open `cycle.py` first.

| module      | promise                                                                       |
|-------------|-------------------------------------------------------------------------------|
| cycle       | one cycle as numbered steps: order, admit, place quorums, then surplus, then  |
|             | make room for who does not fit                                                |
| profile     | the one page that lists every policy; each is a file in `filters`, `ordering` |
|             | or `placement`                                                                |
| admission   | which groups can be tried at all, and why others cannot                       |
| units       | who is placed together: a group, a podset, or a gang that asks for nothing    |
| grounds     | what a topology request means on the trees there are: depths and sizes        |
| reach       | which volumes each node reaches, and where new ones can be made               |
| trial       | what is assumed within a cycle, with exact undo                               |
| placement   | where members go: `gangs` anywhere, `gather` close together                   |
| preemption  | who must go so that a whole group fits: `search`                              |
| diagnosis   | why members did not fit, as data and in words                                 |

Under `placement/gather.py`, from the top down: `packing` packs several classes in each domain,
`crowds` chooses the domain for one class by what `capacity` rolled up, `descent` goes down from it
on the fewest domains, `neighbours` seats those whose mates have a node, and `misfits` tells what
the domains offered. `exact` searches small cases.

Under `preemption/rounds.py`, which says what a group does that does not fit, its `preemptor`:
`search` tries each domain, `tolls` says whom an eviction takes along and what it costs,
`exhaustive` looks at every set of few victims, and `closures` takes many in the cheapest order,
counting `slots`. `losses` are what goes together, summed up once, and the `roster` of all who may
go is kept for a whole cycle. `reservations` keep the room of those that wait for their victims.
"""
