"""How the numbers of a reproduction differ from its paper's, and what may explain that."""
