"""One module per kind of file: MARK, read, look, and same where edits must not touch what it compares."""
