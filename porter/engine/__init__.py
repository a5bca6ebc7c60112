"""What rules, formats and drivers agree on: the rule, the hit, the session, suppressions, styles."""
