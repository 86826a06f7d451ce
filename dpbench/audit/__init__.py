"""Privacy of mechanisms, measured."""
