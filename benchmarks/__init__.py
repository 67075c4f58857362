"""Benchmarks against scikit-learn, measured side by side in one run: `python -m benchmarks`."""
