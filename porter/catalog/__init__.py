"""What torch_npu, torch and CANN offer, per version."""
