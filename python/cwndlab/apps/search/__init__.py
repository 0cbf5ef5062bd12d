"""Where in a space of parameters a quantity is worst."""
