"""What Google's dialects share: errors, names in both spellings, and `generateContent`."""
