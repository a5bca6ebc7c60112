"""Finds strings that are devices, backends or names of variables, and the places that share their value."""

LITERALS = frozenset({"device", "backend", "tensor-type", "variable"})  # the kinds of strings that a rule may ask for
