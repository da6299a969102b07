"""The extractive engine: summaries and answers without a model, the same bytes every time."""
