"""The results of a run: values, tables, figures, and the result folder."""
