"""Defines the types that rules, formats and drivers share: the rule, the hit, the session, suppressions, styles."""
