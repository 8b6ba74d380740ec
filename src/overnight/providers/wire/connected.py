"""The last moment before a create: a connection stands, and the first byte has not been written."""

from typing import Any

import aiohttp

from overnight.core.announcing import TooLate, check_announcement


class Connected:
    """Whether anything of a request may have gone out: told by aiohttp when its connection stands.

    What was announced too long ago is held back here, where nothing can come between any more but the kernel.
    """

    def __init__(self) -> None:
        self.yes = False
        self.too_late: TooLate | None = None

    async def note(self, *_: Any) -> None:
        try:
            check_announcement()
        except TooLate as error:
            self.too_late = error
            raise
        self.yes = True

    def trace(self) -> aiohttp.TraceConfig:
        config = aiohttp.TraceConfig()
        config.on_connection_create_end.append(self.note)
        return config

    def trouble(self, words: str) -> str:
        """Why nothing came of the request: what broke the connection is our own doing, where it was held back."""
        return words if self.too_late is None else str(self.too_late)
