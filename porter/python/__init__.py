"""Reads one Python file: its text, its tree, its names, the pieces that LibCST parses."""
