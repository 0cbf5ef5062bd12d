"""What a notebook shows: figures and single runs as Altair charts, pages as widgets."""
