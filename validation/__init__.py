"""Validation of the simulator against closed-form laws and ns-2, each with a tolerance.

`python -m validation` runs all checks, writes build/validation.json and the table in validation/README.md;
`pytest validation` runs the same checks as tests.
"""
