"""The head of a report: the conditions of a study, and its result if it states no finding."""
