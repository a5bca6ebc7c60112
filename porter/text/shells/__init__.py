"""Shell scripts, and the shell inside other files."""
