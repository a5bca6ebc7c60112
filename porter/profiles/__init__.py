"""Performance profiles: read, summed up, compared, shown. Of Ascend PyTorch Profiler, and of torch.profiler."""
