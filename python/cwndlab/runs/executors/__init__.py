"""Who performs runs: threads, processes, a cluster."""
