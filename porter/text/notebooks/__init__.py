"""Notebooks: cells, their magics and shell, and how edits go back into the JSON."""
