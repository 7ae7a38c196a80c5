"""The best combination of several runs."""
