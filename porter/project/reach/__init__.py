"""Finds functions of third-party libraries that end, through calls, in something that no NPU has."""
