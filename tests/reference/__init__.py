"""A second implementation of a dozen rules, to hold the engine against: whole files, LibCST and its own scopes only."""
