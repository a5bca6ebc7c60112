"""rules/*.toml read, checked and compiled."""
