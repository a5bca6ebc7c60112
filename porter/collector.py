"""How often Python's garbage collector runs. What porter makes is freed without it, so that it would mostly search in vain."""

THRESHOLD = (300_000, 20, 100)
