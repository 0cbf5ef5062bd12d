"""`python -m cwndlab`."""

from cwndlab.cli import app

app()
