"""The sentences that people read about decisions. Open `messages` first.

The words for a cause are in its class in `model/causes`; here are the sentences around them, the
meanings of reasons, and the sentences on missing room.
"""
