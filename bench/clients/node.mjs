// The official SDKs for Node: whole, streamed, with a tool, and a batch of each vendor that has them.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.cwd(), "package.json"));
const OpenAI = require("openai").default ?? require("openai");
const Anthropic = require("@anthropic-ai/sdk").default ?? require("@anthropic-ai/sdk");
const { GoogleGenAI } = require("@google/genai");
const { toFile } = require("openai");

const question = "Tell me of a lake.";
const schema = { type: "object", properties: { country: { type: "string" } }, required: ["country"] };
const openai = new OpenAI({ apiKey: "any", maxRetries: 0 });
const anthropic = new Anthropic({ apiKey: "any", baseURL: process.env.ANTHROPIC_BASE_URL, maxRetries: 0 });
const google = new GoogleGenAI({ apiKey: "any", httpOptions: { baseUrl: process.env.GOOGLE_GEMINI_BASE_URL } });
const wait = (seconds) => new Promise((done) => setTimeout(done, seconds * 1000));
const must = (fact, what) => { if (!fact) throw new Error(what); };

const deeds = {
  async "openai streamed"() {
    let pieces = 0, text = "";
    for await (const chunk of await openai.chat.completions.create({ model: "gpt-4.1", stream: true, messages: [{ role: "user", content: question }] })) {
      text += chunk.choices[0]?.delta?.content ?? ""; pieces += 1;
    }
    must(text.includes("lake"), text);
    return `${pieces} pieces`;
  },
  async "openai tool"() {
    const tool = { type: "function", name: "find_city", parameters: schema, strict: false };
    const said = await openai.responses.create({ model: "gpt-4.1", input: "Hello?", tools: [tool], tool_choice: "required" });
    must(said.output[0].type === "function_call", JSON.stringify(said.output));
    return said.output[0].name;
  },
  async "openai batch"() {
    const lines = [...Array(30).keys()].map((n) => JSON.stringify({ custom_id: `r${n}`, method: "POST", url: "/v1/chat/completions", body: { model: "gpt-4.1", messages: [{ role: "user", content: `Row ${n}?` }] } })).join("\n");
    const file = await openai.files.create({ file: await toFile(Buffer.from(lines), "in.jsonl"), purpose: "batch" });
    let batch = await openai.batches.create({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" });
    while (!["completed", "failed"].includes(batch.status)) { await wait(0.1); batch = await openai.batches.retrieve(batch.id); }
    const rows = (await (await openai.files.content(batch.output_file_id)).text()).trim().split("\n").map(JSON.parse);
    must(rows.length === 30 && rows.every((row) => row.response.body.choices[0].message.content.includes(`Row ${row.custom_id.slice(1)}`)), "rows");
    return `${rows.length} of 30 rows right`;
  },
  async "anthropic streamed"() {
    const stream = anthropic.messages.stream({ model: "claude-haiku-4-5", max_tokens: 500, messages: [{ role: "user", content: question }] });
    const message = await stream.finalMessage();
    must(message.content[0].text.includes("lake"), JSON.stringify(message));
    return message.stop_reason;
  },
  async "anthropic tool"() {
    const said = await anthropic.messages.create({ model: "claude-haiku-4-5", max_tokens: 500, messages: [{ role: "user", content: "Hello?" }], tools: [{ name: "find_city", input_schema: schema }], tool_choice: { type: "any" } });
    must(said.content[0].type === "tool_use", JSON.stringify(said));
    return said.content[0].name;
  },
  async "anthropic batch"() {
    const requests = [...Array(30).keys()].map((n) => ({ custom_id: `r${n}`, params: { model: "claude-haiku-4-5", max_tokens: 300, messages: [{ role: "user", content: `Row ${n}?` }] } }));
    let batch = await anthropic.messages.batches.create({ requests });
    while (batch.processing_status !== "ended") { await wait(0.1); batch = await anthropic.messages.batches.retrieve(batch.id); }
    let right = 0;
    for await (const row of await anthropic.messages.batches.results(batch.id)) {
      if (row.result.message.content[0].text.includes(`Row ${row.custom_id.slice(1)}`)) right += 1;
    }
    must(right === 30, `${right} right`);
    return `${right} of 30 rows right`;
  },
  async "google streamed"() {
    let text = "";
    for await (const chunk of await google.models.generateContentStream({ model: "gemini-2.5-flash", contents: question })) text += chunk.text ?? "";
    must(text.includes("lake"), text);
    return `${text.length} characters`;
  },
  async "google batch"() {
    const src = [...Array(30).keys()].map((n) => ({ contents: [{ role: "user", parts: [{ text: `Row ${n}?` }] }] }));
    let job = await google.batches.create({ model: "gemini-2.5-flash", src });
    while (!["JOB_STATE_SUCCEEDED", "JOB_STATE_FAILED"].includes(job.state)) { await wait(0.1); job = await google.batches.get({ name: job.name }); }
    const right = job.dest.inlinedResponses.filter((one, n) => one.response.candidates[0].content.parts[0].text.includes(`Row ${n}`)).length;
    must(right === 30, `${right} at their place`);
    return `${right} of 30 rows at their place`;
  },
};

let failed = false;
for (const [name, deed] of Object.entries(deeds)) {
  try { console.log(`ok node ${name}: ${await deed()}`); }
  catch (error) { failed = true; console.error(error); console.log(`wrong node ${name}: ${String(error).slice(0, 300)}`); }
}
process.exit(failed ? 1 : 0);
