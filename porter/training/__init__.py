"""Says what happens in the training step: where, how often, on which device."""
