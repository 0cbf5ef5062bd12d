"""`--backend linux-virtual`: User-Mode Linux kernels, built and run in virtual time."""
