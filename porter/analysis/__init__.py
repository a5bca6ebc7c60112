"""Analyses one file of any kind: findings and byte edits come out. Checks the promises that the edits keep."""
