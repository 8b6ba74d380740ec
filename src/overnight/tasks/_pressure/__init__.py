"""The keys and the texts of the task pressure."""
