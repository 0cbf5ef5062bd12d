"""The entry point of `python -m cwndlab`."""

from cwndlab.cli import main

main()
