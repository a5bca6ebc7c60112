"""What an expression is, and computations that the target has one operator for."""
