"""What tasks that hold answers to a specification share: candidates, questions, verdicts, tables."""
