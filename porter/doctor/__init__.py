"""What is installed here, and whether it fits together."""
