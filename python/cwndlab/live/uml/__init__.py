"""User-Mode Linux with time travel: the kernel of `--backend linux-virtual`, how it is built and run."""
