"""The sentences that people read about decisions: around causes, on reasons and on room.

What a cause itself says is in its class, in `model/causes`. Open `messages` first.
"""
