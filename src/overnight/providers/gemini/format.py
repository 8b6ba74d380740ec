"""The Gemini API's format: that of Google's models, with the key of a line in `key`."""

from overnight.providers.gemini.batches import LIMITS
from overnight.providers.google_api.format import GoogleFormat

FORMAT = GoogleFormat("gemini", "key", LIMITS, imported=False)
