"""What the simulated models answer: pure functions of the truth and the prompt."""
