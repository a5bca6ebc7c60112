"""What an expression is, and computations that the target has one operator for."""

PATTERNS = frozenset(  # kinds of Match that patterns.py and experts.py make: what a rule may ask for
    "attention complex-rotation experts gate gelu masked-softmax norm rms-norm rotary sdpa".split()
)
