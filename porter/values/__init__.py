"""Says what an expression computes, and finds computations for which the target has one operator."""

PATTERNS = frozenset(  # the kinds of Match that patterns.py and experts.py make, and that a rule may ask for
    "attention complex-rotation experts gate gelu masked-softmax norm rms-norm rotary sdpa".split()
)
