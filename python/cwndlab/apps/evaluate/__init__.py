"""Evaluation packs: what a document asks of a congestion control or a queue, as studies and a scorecard."""
