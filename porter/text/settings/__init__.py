"""Settings files, whatever their format."""
