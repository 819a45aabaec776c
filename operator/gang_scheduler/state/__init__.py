"""Everything known now, our own writes included; it gives the snapshot of every cycle.

Open `cache` first: it is the only way in, for objects of `decode` and for decisions. `kinds` is
the table of watched kinds: each row joins the reader of a kind with its store.
"""
