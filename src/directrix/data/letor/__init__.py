"""LETOR / svmlight text: reading, writing, and reading in parts."""
