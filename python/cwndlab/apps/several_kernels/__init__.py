"""Studies on several kernels, which are compared in tables and figures."""
