"""The index page of the reports in a folder."""
