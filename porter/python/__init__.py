"""One Python file: its text, its tree, its names, the pieces that LibCST sees."""
