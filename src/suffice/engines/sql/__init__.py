"""Statistics as aggregate queries, and models as expressions, of any database that Ibis speaks to."""
