"""Port GPU training code to Ascend NPUs: analyse, migrate, explain."""

__version__ = "0.1.0"
