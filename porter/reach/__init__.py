"""Which functions of a third-party library end, through calls, in something that no NPU has."""
