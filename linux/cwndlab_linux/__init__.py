"""`--backend linux` and `--backend linux-virtual`: runs on Linux kernels."""
