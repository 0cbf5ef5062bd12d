"""The corner of a space of parameters in which a quantity is worst."""
