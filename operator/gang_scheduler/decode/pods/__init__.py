"""Pods of the model, from the wire. Open `pod` first."""
