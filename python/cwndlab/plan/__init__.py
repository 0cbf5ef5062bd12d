"""The plan of a study: axes, cells, replicates; each cell compiled to the engine's scenario."""
