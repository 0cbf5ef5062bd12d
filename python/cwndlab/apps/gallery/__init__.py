"""The page that leads to the reports in a folder."""
