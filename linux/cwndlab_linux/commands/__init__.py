"""Commands for kernels."""
