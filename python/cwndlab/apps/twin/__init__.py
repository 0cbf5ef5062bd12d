"""The comparison of a kernel's run with the simulator."""
