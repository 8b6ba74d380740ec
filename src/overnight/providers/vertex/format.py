"""Vertex's format: that of Google's models, read by an importer of tables, with the key of a line in `custom_id`."""

from overnight.providers.google_api.format import GoogleFormat
from overnight.providers.vertex.jobs import LIMITS

FORMAT = GoogleFormat("vertex", "custom_id", LIMITS, imported=True)
