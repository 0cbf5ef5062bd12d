"""`--backend linux`: runs on this machine's kernel."""
