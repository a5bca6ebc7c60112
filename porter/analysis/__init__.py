"""One file in, findings and byte edits out, whatever kind of file it is; the promises that its edits keep."""
