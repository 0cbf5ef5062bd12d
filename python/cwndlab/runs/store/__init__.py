"""The store of finished replicates by their keys, and provenance.json, with which they can be reproduced."""
