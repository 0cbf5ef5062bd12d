"""Output for notebooks: figures and single runs as Altair charts, and pages as widgets."""
