"""What a step runs in other files, followed along calls."""
