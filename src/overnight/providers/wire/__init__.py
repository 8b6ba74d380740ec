"""HTTP, as every connection needs it: one try per call, errors in our words, no key outside its origin."""
