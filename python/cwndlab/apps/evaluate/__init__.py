"""Evaluation packs: a document's criteria for congestion controls or queues, as studies and a scorecard."""
