"""Writing inputs for a specification: what is asked of writers and judges, and what comes of it."""
