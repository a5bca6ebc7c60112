"""C++, CUDA and Triton, and what joins them to Python."""
