"""Learn from logs of clicks, and compare rankers by clicks."""
