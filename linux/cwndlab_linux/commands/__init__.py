"""The commands of kernels."""
