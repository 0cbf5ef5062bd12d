"""Reading study files: schema, units, references, checks, and errors with file and line."""
