"""The tasks that come with Overnight: a file without underscore is a task, behind the entry point `overnight.tasks`."""
