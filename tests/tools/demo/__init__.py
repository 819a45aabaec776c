"""The demo: examples/ on a real control plane, as a story to watch.

    __main__     run, up, down: what `make demo`, `make up` and `make down` call
    story        what is done and shown, step by step
    cluster      the nodes of examples/clusters, our CRDs and the operator
    examples     the directories of examples/, and what is expected of each
    differences  how things stand against that
    placements   which pod is where: read from the API server, shown as a table

tests/e2e/test_examples.py runs the same examples on the same cluster.
"""
