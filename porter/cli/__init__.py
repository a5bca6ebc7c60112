"""The command line: what each command is called with, and how it ends. No logic."""
