"""The shipped catalogue, and what it says of an API on a target."""
