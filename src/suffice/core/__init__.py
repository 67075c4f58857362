"""The ground: errors, arrays, tables of columns, words, priors, and the statistics that add and subtract."""
