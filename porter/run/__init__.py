"""Analyses many files: finds them, reads the settings, uses several processes, and keeps results for the next run."""
