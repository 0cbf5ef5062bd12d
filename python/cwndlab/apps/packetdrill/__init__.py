"""packetdrill scripts on the simulator's endpoint."""
