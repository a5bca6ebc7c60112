"""Follows calls from a training step into other files."""
