"""The lines at the head of a report: conditions of a study, and what it shows if it states no finding."""
