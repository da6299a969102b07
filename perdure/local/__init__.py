"""Servers for a machine that has none: one owner runs them, everybody else finds them."""
