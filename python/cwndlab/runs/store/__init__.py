"""The store of finished replicates by their keys, and provenance.json, which says how to make them again."""
