"""LETOR / svmlight text: read it, write it, or take it part by part."""
