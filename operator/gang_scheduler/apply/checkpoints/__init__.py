"""Has gangs save their work before any of their pods is marked as a victim.

| module     | promise                                                               |
|------------|-----------------------------------------------------------------------|
| saving     | asks all gangs of a preemption at once, and waits for their answers   |
| asked      | one gang that is asked, with its time                                 |
| annotating | requests as they stand on pods, and how they are withdrawn            |
| posting    | the mode HTTP: requests to the first member of a gang                 |
| grace      | what pods get to end once they are deleted, which is the mode Signal  |
"""
