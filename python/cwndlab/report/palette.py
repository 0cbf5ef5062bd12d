"""The colours of flows and series, the same in figures, tables and dialogs."""

PALETTE = ["#1754d8", "#fd5b2a", "#388754", "#734daa", "#e16d70", "#6d7883", "#9f4321", "#329ebb"]
"""Neighbours differ in lightness, so a grey print tells them apart; no two look alike to readers with colour
blindness; at least 3:1 on white and on black."""
