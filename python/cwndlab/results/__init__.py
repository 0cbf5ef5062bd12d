"""The results of a run: as values, tables, figures, files and a folder."""
