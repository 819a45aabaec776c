"""Objects become nouns of the model: pure, and a refusal names the field and the value.

Open `events` first; `reader` says how a kind is read.
"""
