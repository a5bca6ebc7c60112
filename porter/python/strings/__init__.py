"""Which strings are devices, backends or names of variables, and what else has the same value."""

LITERALS = frozenset({"device", "backend", "tensor-type", "variable"})  # what a string may be: what a rule may ask for
