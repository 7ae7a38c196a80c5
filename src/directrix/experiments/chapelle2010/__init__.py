"""The experiments of Chapelle and Wu (2010), section 7, and the statements of sections 4 to 6, on LETOR."""
