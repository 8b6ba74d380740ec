"""What is made of judged conversations: labels, votes, rates, tables."""
