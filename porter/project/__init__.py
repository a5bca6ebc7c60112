"""Collects facts that need more than one file."""
