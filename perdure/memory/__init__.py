"""What a conversation remembers: pure and deterministic, without I/O, clock or chance."""
