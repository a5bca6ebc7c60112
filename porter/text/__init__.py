"""Files that are not Python."""
