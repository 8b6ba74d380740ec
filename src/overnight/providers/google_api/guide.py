"""The pages of the documentation about Google's two APIs, written from the rules that are applied."""

from overnight.providers.contract import Limits, Vendor
from overnight.providers.google_api.families import FAMILIES, LEVEL_BUDGETS, Family, thinking_choices

_HEADS = {
    "gemini": """\
## gemini

The Gemini API, with a key of Google AI Studio.

| | |
|---|---|
| key | `GOOGLE_API_KEY`, else `{key_variable}`; `key: VARIABLE` of a model names another |
| address | `{base_url_variable}`, without a version; default `{default_base_url}` |
| bare model names | {models} |
""",
    "vertex": """\
## vertex

Vertex AI batch prediction, with the project's own credentials and buckets. Needs `pip install 'overnight[vertex]'`.

| | |
|---|---|
| credentials | the file in `{key_variable}`, else those of `gcloud auth application-default login`, \
else the machine's own; `key: VARIABLE` of a model names another variable with the path of a file |
| project | `GOOGLE_CLOUD_PROJECT`, else the credentials' own |
| region | `GOOGLE_CLOUD_LOCATION`, default `us-central1` |
| buckets | `buckets` of the study, else `VERTEX_INPUT_BUCKET` and `VERTEX_OUTPUT_BUCKET` |
| address | `{base_url_variable}`, without a version; default `{default_base_url}` |
| with an emulated store | `STORAGE_EMULATOR_HOST`: no credentials are asked for |
""",
}
_LIMITS = """\
| requests in a batch | {requests:,}{own} |
| bytes in a batch | {bytes:,} |
| batches at once | {at_once} |
| window | {hours} hours{at_end} |
| results kept | {kept} |
| queued tokens | by account and model: learned from the provider's refusal |
"""
_COMPILING = """\
### How options are sent

| option | field of the request |
|---|---|
| system message | `systemInstruction` |
| roles | `user`, `model` |
| `max_tokens` | `generationConfig.maxOutputTokens`; thoughts count |
| `temperature`, `top_p`, `seed`, `stop` | `temperature`, `topP`, `seed`, `stopSequences` (five at most) |
| `thinking` | `thinkingConfig` with `includeThoughts`, as below |
| `json_schema` | {schema} |
| `extra` | merged last; `generationConfig` in it into that of the request |

`thinking: on` leaves it to the model for how long. A level goes by its name where a family has levels, else as a budget
({levels} tokens); a number is a budget. `contents`, `systemInstruction` and `model` are Overnight's own.
"""
_SCHEMAS = {
    "gemini": "`responseJsonSchema` as it stands; for gemini-2.0 and older `responseSchema`, Google's smaller language",
    "vertex": "`responseSchema`, in Google's smaller language with every reference written out",
}
_NOTES = {
    "gemini": """\
Files are uploaded under an id of our own, so that a lost answer leaves no second one. Batches are told apart by their
display name. An expired or cancelled batch gives up nothing; its rows are asked again. Answers are joined by their key,
never by their place.
""",
    "vertex": """\
Input files are put where there is none yet (`ifGenerationMatch=0`). Jobs are told apart by a label. Each writes below a
folder of its own, and only files in the folder that the job itself names are read, all of them. The caller needs
`roles/storage.objectUser` on the buckets, and the Vertex AI service agent of the project
(`service-NUMBER@gcp-sa-aiplatform.iam.gserviceaccount.com`) `roles/storage.objectAdmin`. Vertex reads its input as a
table: an empty object, a null, or a field whose name is no name of a column fails a whole job, so these are refused
before anything is sent. Input and output files stay in your buckets.
""",
}


def guide(vendor: Vendor, limits: Limits) -> str:
    name = vendor.name
    head = _HEADS[name].format(
        key_variable=vendor.key_variable,
        base_url_variable=vendor.base_url_variable,
        default_base_url=vendor.default_base_url,
        models=", ".join(f"`{pattern}`" for pattern in vendor.models),
    )
    told = _LIMITS.format(
        requests=limits.requests,
        own=" (Overnight's own: none is published)" if name == "gemini" else "",
        bytes=limits.bytes,
        at_once=limits.batches_at_once or "no limit is known",
        hours=limits.window_seconds // 3600,
        at_end=", then without results" if name == "gemini" else "",
        kept="not published" if name == "gemini" else "as long as your bucket does",
    )
    levels = ", ".join(f"{level} {tokens:,}" for level, tokens in LEVEL_BUDGETS.items())
    compiling = _COMPILING.format(schema=_SCHEMAS[name], levels=levels)
    return f"{head}{told}\n{_NOTES[name]}\n{compiling}\n{_family_table()}"


def _family_table() -> str:
    rows = "".join(f"| {' | '.join(_family_row(family))} |\n" for family in FAMILIES)
    return (
        "### Model families\n\nThe first row whose pattern fits a model's name holds.\n\n"
        "| family | names | `thinking` | budget of tokens |\n|---|---|---|---|\n" + rows
    )


def _family_row(family: Family) -> list[str]:
    budget = f"{family.budgets[0]:,} to {family.budgets[1]:,}" if family.budgets else "no" if family.known else "any"
    return [
        family.name,
        " ".join(f"`{pattern}`" for pattern in family.patterns),
        ", ".join(thinking_choices(family)),
        budget,
    ]
