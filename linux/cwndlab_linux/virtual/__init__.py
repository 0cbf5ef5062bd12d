"""`--backend linux-virtual`: a User-Mode Linux, built and run in virtual time."""
