"""The applications of the laboratory, whose own packages import none of these."""
