"""What the two APIs of Google's models have in common."""
