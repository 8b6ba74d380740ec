"""What servers that answer OpenAI's chat completions share: answers, live calls, and the rows of their batches."""
