"""The plan of a study: its cells, compiled to the engine's scenarios, and the replicates of each cell."""
