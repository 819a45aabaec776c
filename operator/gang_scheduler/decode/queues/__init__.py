"""Queues and the objects around them, from the objects of each product to nouns of the model.

A value that cannot be read raises InvalidField with the field and the value. A value that can be
read but makes no sense becomes the `problem` of the queue, which is then inactive with a status
that says why; open `ours` first.
"""
