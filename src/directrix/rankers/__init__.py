"""scikit-learn estimators and their files."""
