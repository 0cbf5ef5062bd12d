"""packetdrill scripts against the simulator's endpoint."""
