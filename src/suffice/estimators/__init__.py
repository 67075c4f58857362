"""Classifiers with the interface of scikit-learn: each says which family its parameters mean."""
