"""One Python file in, findings and byte edits out."""
