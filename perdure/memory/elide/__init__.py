"""Light elision: what a context can do without is told in a line, without a model."""
