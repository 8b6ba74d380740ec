"""vLLM on one's own GPUs, offline: files for `vllm run-batch`, written into a folder and read from it."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from overnight.core.ask import Model
from overnight.core.errors import StudyError
from overnight.providers.contract import Endpoint, Vendor
from overnight.providers.vllm.format import VllmFormat, guide

if TYPE_CHECKING:
    from overnight.providers.vllm.connection import FolderConnection

__all__ = ["VllmVendor", "provider"]

_FOLDER = "vllm-batches"


class VllmVendor:
    """vLLM's run-batch."""

    name = "vllm"
    key_variable = "VLLM_API_KEY"
    base_url_variable = "VLLM_FOLDER"
    default_base_url = ""
    models: tuple[str, ...] = ()
    emulator_path = ""
    in_folder = True
    format = VllmFormat()
    # A folder of this machine has no host.
    own_hosts = re.compile(r"")

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        folder = environ.get(self.base_url_variable, "").strip() or _FOLDER
        if model is not None and model.base_url is not None:
            raise StudyError(
                "vllm: base_url is for servers: write compatible/NAME for a server that runs, or leave it out"
            )
        if "://" in folder:
            raise StudyError(f"{self.base_url_variable}: found '{folder}', wanted a folder")
        return Endpoint(base_url=Path(os.path.realpath(folder)).as_uri(), key="")

    def at_emulator(self, endpoint: Endpoint, origin: str, model: Model | None) -> Endpoint:  # noqa: ARG002
        raise StudyError(
            "vllm: files for your own GPUs cannot be rehearsed; write compatible/NAME to rehearse the same questions"
        )

    def connect(self, endpoint: Endpoint) -> "FolderConnection":
        # Who only encodes and decodes needs no batches.
        from overnight.providers.vllm.connection import FolderConnection  # noqa: PLC0415

        return FolderConnection(endpoint)

    def guide(self) -> str:
        return guide()


provider: Vendor = VllmVendor()
