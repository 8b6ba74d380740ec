"""The official SDK on its aiohttp backend."""
# ruff: noqa: ASYNC230, PTH123, SIM115 - written as such scripts are

import asyncio
import csv
import json
import sys

from openai import AsyncOpenAI, DefaultAioHttpClient

items, base, out, prompt, model, at_once = sys.argv[1:]


async def main() -> None:
    rows = [json.loads(line) for line in open(items)]
    answers: dict[str, str | None] = {}
    gate = asyncio.Semaphore(int(at_once))
    async with AsyncOpenAI(
        base_url=base, api_key="sk-bench-0123456789abcdefghij", http_client=DefaultAioHttpClient()
    ) as client:

        async def ask(row: dict) -> None:
            content = prompt.replace("{text}", row["text"])
            async with gate:
                reply = await client.chat.completions.create(
                    model=model, messages=[{"role": "user", "content": content}]
                )
            answers[row["id"]] = reply.choices[0].message.content

        await asyncio.gather(*(ask(row) for row in rows))
    with open(out, "w", newline="") as table:
        csv.writer(table).writerows((row["id"], answers[row["id"]]) for row in rows)


asyncio.run(main())
