"""`cwndlab differ`: packet-by-packet comparison of simulator and kernel in random scenarios."""
