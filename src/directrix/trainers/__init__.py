"""Ways to minimise a loss."""
