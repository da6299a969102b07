"""The providers of models, and what stands beside them: token counts and a process pool."""
