"""Exit codes."""

OK, FOUND, USAGE, INTERNAL, INTERRUPTED = 0, 1, 2, 123, 130
UNSURE = 4  # of `porter compare`: not enough evidence
# of `porter verify`, where it is not the port that failed
ORIGINAL, ENVIRONMENT, DEVICE = 3, 4, 5
