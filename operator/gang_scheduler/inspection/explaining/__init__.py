"""Everything known of one gang, as a document and as text: why it waits, or where it runs.

Open `answers` first.
"""
