"""The numbers of a run on a kernel next to those of the simulator."""
