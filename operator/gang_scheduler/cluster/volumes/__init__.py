"""Claims and volumes: what is known of them, and how claims are bound before their pods.

`book.py` knows all of them and answers: what does a pod ask for (`storage.py`), what must be
written for it (`claim_steps.py`, `claim_promises.py`), how far has it come (`claim_progress.py`).
`claims.py` writes and waits, for the binder.
"""
