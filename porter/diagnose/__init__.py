"""A log or a traceback in; cause, place and cure out. Nothing that stands in a log is ever run or opened."""
