"""What touches the world: models, token counts and, through them, the network."""
