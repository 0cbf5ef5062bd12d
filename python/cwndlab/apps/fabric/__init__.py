"""Fabrics of leaves and spines: `[leaf_spine]`."""
