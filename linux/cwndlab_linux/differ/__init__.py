"""`cwndlab differ`: scenarios drawn at random, run on simulator and kernel, and compared packet by packet."""
