"""Amazon Bedrock: model invocation jobs over S3, signed with the usual AWS credentials, and live calls."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from overnight.core.ask import Buckets, Model
from overnight.core.errors import StudyError, Unauthorized
from overnight.providers.bedrock.format import BedrockFormat, guide
from overnight.providers.bedrock.jobs import BUCKETS
from overnight.providers.bedrock.sign_in import check_installed
from overnight.providers.contract import Endpoint, Vendor
from overnight.providers.endpoints import address_parts, checked_region

if TYPE_CHECKING:
    from overnight.providers.bedrock.connection import BedrockConnection

__all__ = ["BedrockVendor", "provider"]

ROLE_VARIABLE = "BEDROCK_ROLE_ARN"
_REGION = "us-east-1"
_EMULATED_ROLE = "arn:aws:iam::123456789012:role/rehearsal"


# Whoever has one of these set means to be known to AWS; others, such as a bundle of certificates, say nothing.
_TELL_OF_AN_ACCOUNT = (
    *("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ROLE_ARN"),
    *("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
)


class BedrockVendor:
    """Amazon Bedrock."""

    name = "bedrock"
    # The name of a profile. Keys themselves come from the real environment, and from no study and no .env file.
    key_variable = "AWS_PROFILE"
    base_url_variable = "AWS_ENDPOINT_URL_BEDROCK"
    default_base_url = "https://bedrock.REGION.amazonaws.com"
    # The names of its makers come first: anthropic.claude-..., us.amazon.nova-...
    models: tuple[str, ...] = (
        "*.anthropic.*",
        "anthropic.*",
        "amazon.*",
        "*.amazon.*",
        "meta.*",
        "*.meta.*",
        "arn:aws:*",
    )
    emulator_path = "/bedrock"
    format = BedrockFormat()
    bucket_scheme = "s3://"
    bucket_variables = BUCKETS.variables
    other_variables = (*("AWS_REGION", "AWS_DEFAULT_REGION", ROLE_VARIABLE),)
    own_hosts = re.compile(r"bedrock(?:-runtime)?(?:-fips)?\.[a-z0-9-]+\.amazonaws\.com")

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        """`key: VARIABLE` of a model names a variable with the name of a profile."""
        check_installed()
        told = (*_TELL_OF_AN_ACCOUNT, self.base_url_variable)
        if model is None and not any(environ.get(name, "").strip() for name in told):
            # Whoever has AWS names a key, a profile or a region at least; nobody else is asked for a role of a machine.
            raise Unauthorized(
                "AWS_PROFILE is not set: name a profile there, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                "AWS_REGION on a machine with a role (`--emulate` rehearses without any)"
            )
        region = checked_region(_first(environ, "AWS_REGION", "AWS_DEFAULT_REGION") or _REGION, "AWS_REGION")
        address = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        storage = environ.get("AWS_ENDPOINT_URL_S3", "").strip()
        return Endpoint(
            base_url=_checked_url(address or f"https://bedrock.{region}.amazonaws.com", self.base_url_variable),
            key="",
            project=environ.get(ROLE_VARIABLE, "").strip() or None,
            location=region,
            credentials=_profile(environ, model),
            storage_url=_checked_url(storage or f"https://s3.{region}.amazonaws.com", "AWS_ENDPOINT_URL_S3"),
            buckets=BUCKETS.given(environ, model),
        )

    def at_emulator(self, endpoint: Endpoint, origin: str, model: Model | None) -> Endpoint:
        """A rehearsal needs no role and no buckets of its own; those of the study are used by their names."""
        buckets = model.buckets if model is not None else None
        return msgspec.structs.replace(
            endpoint,
            project=_EMULATED_ROLE,
            location=_REGION,
            storage_url=f"{origin}/s3",
            buckets=buckets or Buckets(input="s3://rehearsal/in", output="s3://rehearsal/out"),
        )

    def check_sending(self, endpoint: Endpoint) -> None:
        BUCKETS.check(endpoint)
        if not endpoint.project:
            raise StudyError(
                f"{ROLE_VARIABLE} is not set: put the ARN of a role there that Bedrock may take, and that may read and "
                f"write your buckets"
            )

    def connect(self, endpoint: Endpoint) -> "BedrockConnection":
        # Who only encodes and decodes needs no network.
        from overnight.providers.bedrock.connection import BedrockConnection  # noqa: PLC0415

        return BedrockConnection(endpoint)

    def guide(self) -> str:
        return guide()


provider: Vendor = BedrockVendor()


def _first(environ: Mapping[str, str], *names: str) -> str:
    return next((environ[name].strip() for name in names if environ.get(name, "").strip()), "")


def _profile(environ: Mapping[str, str], model: Model | None) -> str | None:
    own = model.key if model is not None else None
    profile = environ.get(own or "AWS_PROFILE", "").strip()
    if own is not None and not profile:
        raise StudyError(f"{own} is not set: put the name of an AWS profile there")
    return profile or None


def _checked_url(address: str, where: str) -> str:
    address_parts(address, where, "https://host")
    return address.strip().rstrip("/")
