"""Many files: which ones, in how many processes, with which settings; what was known before."""
