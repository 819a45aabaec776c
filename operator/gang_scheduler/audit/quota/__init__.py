"""What queues use, and what they may.

| module  | promise                                       |
|---------|-----------------------------------------------|
| queues  | the tree of queues, and what each may use     |
| charges | what queues are charged                       |
"""
