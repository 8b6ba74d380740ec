"""Vertex AI: batch prediction jobs over Cloud Storage and `generateContent`, under `/vertex` in every version."""

from __future__ import annotations

from collections.abc import Mapping

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.google.accounts import check_access
from overnight_emulator.dialects.google.live import LiveRoutes
from overnight_emulator.dialects.google.speaking import speaking
from overnight_emulator.dialects.vertex.jobs import JobRoutes
from overnight_emulator.dialects.vertex.lines import VertexRows
from overnight_emulator.world import World

_NAME = "vertex"
_PREFIX = "/vertex"
_VERSION = "/{version:v1|v1beta1|v1beta}"
_PLACE = "/projects/{project}/locations/{location}"
# With a project, with an API key alone, and with an address that stands for the whole collection.
_PARENTS = (f"{_VERSION}{_PLACE}", _VERSION, "")


def _application(world: World) -> web.Application:
    app = web.Application(middlewares=[speaking(lambda request: check_access(request, world.truth))])
    jobs = JobRoutes(world, _NAME)
    for parent in _PARENTS:
        app.add_routes(jobs.routes(parent))
        app.add_routes(LiveRoutes(world, f"{parent}/publishers/google", "publisherModels").routes())
    return app


def _environment(origin: str) -> Mapping[str, str]:
    return {
        "GOOGLE_VERTEX_BASE_URL": f"{origin}{_PREFIX}",
        "GOOGLE_CLOUD_PROJECT": "emulator",
        "GOOGLE_CLOUD_LOCATION": "us-central1",
    }


VERTEX = Dialect(_NAME, _PREFIX, _application, VertexRows, _environment)
