"""Whether a change of a congestion control, kernel, stack or program moves numbers of studies."""
