"""litellm's asynchronous completion, one call for each row."""
# ruff: noqa: ASYNC230, PTH123, SIM115 - written as such scripts are

import asyncio
import csv
import json
import os
import sys

items, base, out, prompt, model, at_once = sys.argv[1:]
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402 - reads the environment when it is imported

KEY = "sk-bench-0123456789abcdefghij"


async def main() -> None:
    rows = [json.loads(line) for line in open(items)]
    answers: dict[str, str] = {}
    gate = asyncio.Semaphore(int(at_once))

    async def ask(row: dict) -> None:
        content = prompt.replace("{text}", row["text"])
        async with gate:
            reply = await litellm.acompletion(
                model=f"openai/{model}", messages=[{"role": "user", "content": content}], api_base=base, api_key=KEY
            )
        answers[row["id"]] = reply.choices[0].message.content

    await asyncio.gather(*(ask(row) for row in rows))
    with open(out, "w", newline="") as table:
        csv.writer(table).writerows((row["id"], answers[row["id"]]) for row in rows)


asyncio.run(main())
