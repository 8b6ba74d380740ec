"""Amazon Bedrock: model invocation jobs and Converse, under `/bedrock`. Signatures are not checked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from overnight_emulator.dialects import Dialect
from overnight_emulator.dialects.bedrock.converse import ConverseRoutes
from overnight_emulator.dialects.bedrock.errors import AwsError
from overnight_emulator.dialects.bedrock.jobs import JobRoutes
from overnight_emulator.dialects.bedrock.records import BedrockRows
from overnight_emulator.dialects.s3.accounts import access_key
from overnight_emulator.truth import Truth
from overnight_emulator.wire import MISSHAPEN, MISSHAPEN_WORDS
from overnight_emulator.world import World

_NAME = "bedrock"
_PREFIX = "/bedrock"


def _check(request: web.Request, truth: Truth) -> None:
    key = access_key(request)
    if not key or key in truth.keys.refuse:
        raise AwsError(403, "UnrecognizedClientException", "The security token included in the request is invalid.")


def _application(world: World) -> web.Application:
    @web.middleware
    async def speak(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            _check(request, world.truth)
            return await handler(request)
        except AwsError as error:
            return error.reply()
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed) as error:
            return AwsError(error.status, "UnknownOperationException", "There is no such operation.").reply()
        except MISSHAPEN:
            return AwsError(400, "ValidationException", MISSHAPEN_WORDS).reply()

    app = web.Application(middlewares=[speak])
    app.add_routes(JobRoutes(world, _NAME).routes())
    app.add_routes(ConverseRoutes(world).routes())
    return app


def _environment(origin: str) -> Mapping[str, str]:
    return {
        "AWS_ENDPOINT_URL_BEDROCK": f"{origin}{_PREFIX}",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": f"{origin}{_PREFIX}",
        "AWS_ACCESS_KEY_ID": "emulator",
        "AWS_SECRET_ACCESS_KEY": "emulator",
        "AWS_REGION": "us-east-1",
        "BEDROCK_ROLE_ARN": "arn:aws:iam::123456789012:role/emulator",
    }


BEDROCK = Dialect(_NAME, _PREFIX, _application, BedrockRows, _environment)
