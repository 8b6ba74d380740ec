"""Raw aiohttp: the least that asks live, everything in memory, no care for anything that goes wrong."""
# ruff: noqa: ASYNC230, PTH123, SIM115 - written as such scripts are

import asyncio
import csv
import json
import sys

import aiohttp

items, base, out, prompt, model, at_once = sys.argv[1:]
HEADERS = {"Authorization": "Bearer sk-bench-0123456789abcdefghij"}


async def main() -> None:
    rows = [json.loads(line) for line in open(items)]
    answers: dict[str, str] = {}
    gate = asyncio.Semaphore(int(at_once))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=HEADERS) as session:

        async def ask(row: dict) -> None:
            message = {"role": "user", "content": prompt.replace("{text}", row["text"])}
            async with (
                gate,
                session.post(f"{base}/chat/completions", json={"model": model, "messages": [message]}) as reply,
            ):
                answers[row["id"]] = (await reply.json())["choices"][0]["message"]["content"]

        await asyncio.gather(*(ask(row) for row in rows))
    with open(out, "w", newline="") as table:
        csv.writer(table).writerows((row["id"], answers[row["id"]]) for row in rows)


asyncio.run(main())
