"""What each engine does with an exported file, by the rules of its own source: ``load(content, version, names)`` and scores."""
