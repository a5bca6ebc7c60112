"""Facts that need more than one file."""
