"""Queues and the objects around them, decoded from the objects of each product.

Open `ours` first. An unreadable value raises InvalidField with the field and the value. A value
that is readable but senseless becomes the `problem` of the queue, which is then inactive with a
status that says why.
"""
