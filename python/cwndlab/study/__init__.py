"""Study files: schema, units, references, loading; errors that know file and line."""
