"""A study on several kernels: its tables and figures show them side by side."""
