"""Study files: schema, loading, plan and compilation to scenarios of the engine."""
