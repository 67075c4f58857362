"""Pictures, pages and comparisons. They ask a model, and never compute a density themselves."""
