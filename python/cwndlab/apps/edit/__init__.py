"""Writing changes into a study's file."""
