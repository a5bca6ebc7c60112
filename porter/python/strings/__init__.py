"""Which strings are devices, backends or names of variables, and what else has the same value."""
