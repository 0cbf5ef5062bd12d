"""Validation: the simulator against closed-form laws and against ns-2, each with a tolerance.

`python -m validation` runs everything, writes build/validation.json and the table in validation/README.md;
`pytest validation` runs the same checks as tests.
"""
