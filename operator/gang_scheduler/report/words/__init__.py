"""All sentences that people read about decisions: on causes, reasons and room.

Open `messages` first.
"""
