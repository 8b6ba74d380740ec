"""What tasks that judge pairs share: which pairs, how they are asked, what is made of the verdicts."""
