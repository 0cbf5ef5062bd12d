"""Study files: schema, units, references, loading; errors with file and line."""
