"""What comes back, whoever sent it: bodies, complaints, numbers and listings, read into sense without a network."""
