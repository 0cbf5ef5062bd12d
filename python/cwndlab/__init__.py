"""cwndlab: a laboratory for TCP, from a study file to a report."""

from cwndlab._core import version

__version__ = version()
__all__ = ["__version__"]
