"""What a checkpoint holds, and how two differ: headers and bytes are read, and nothing that a file names is imported or called."""
