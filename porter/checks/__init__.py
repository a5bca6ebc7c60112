"""What a rule is, the rules that are data, and one module per rule that is code."""
