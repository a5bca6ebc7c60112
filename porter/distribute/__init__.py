"""Makes one process per device of a training script: what is found in it, and the edits."""
