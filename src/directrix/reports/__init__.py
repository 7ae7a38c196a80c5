"""Reports: what experiments found, as text, JSON, LaTeX and Markdown."""
