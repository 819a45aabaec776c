"""Everything known now, our own writes included. It provides the snapshot of every cycle.

Open `cache` first: it is the only entry, for decoded objects and for decisions. `kinds` is the
table of watched kinds: each row joins the reader of a kind with its store.
"""
