"""Where a run's files are kept."""
