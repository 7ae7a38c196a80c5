"""Reports: results of experiments as text, JSON, LaTeX and Markdown."""
