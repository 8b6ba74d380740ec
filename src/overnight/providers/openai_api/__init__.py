"""OpenAI's API, as OpenAI itself and its look-alikes speak it."""
