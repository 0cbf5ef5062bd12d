"""Leaf-spine fabrics: the short form `[leaf_spine]`."""
