"""The text of a changed study: its own file with the changes written in."""
