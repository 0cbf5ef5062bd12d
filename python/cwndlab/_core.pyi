"""The Rust core: units, and the engine behind them."""

__all__ = ["parse_bytes", "parse_rate", "parse_time", "version"]

def version() -> str:
    """The version of the engine: part of every result's key in the store."""

def parse_time(text: str) -> int:
    """Nanoseconds from "50ms"; ValueError says what would be right."""

def parse_rate(text: str) -> int:
    """Bit/s from "1.5Mbps"; ValueError says what would be right."""

def parse_bytes(text: str) -> int:
    """Bytes from "64KiB"; ValueError says what would be right."""
