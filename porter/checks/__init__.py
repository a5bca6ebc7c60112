"""One module per rule that looks at more than a name, and the registry that finds them."""
