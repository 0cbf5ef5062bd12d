"""Pages on which a study's parameters are moved and its runs follow."""
