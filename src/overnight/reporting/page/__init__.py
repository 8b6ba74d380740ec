"""The page that holds a report: its form, its colours, and how rows are packed into it."""
