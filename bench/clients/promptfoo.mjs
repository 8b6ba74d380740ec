// promptfoo: an evaluation of each vendor's model, and a tool, by its command line. It has no batches and shows no streams.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(process.cwd(), "node_modules", "promptfoo");
const version = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
const program = join(root, JSON.parse(readFileSync(join(root, "package.json"), "utf8")).bin.promptfoo);
const folder = mkdtempSync(join(tmpdir(), "promptfoo-"));
const { EMULATOR_URL: url } = process.env;
const parameters = { type: "object", properties: { country: { type: "string" } }, required: ["country"] };
const tool = { type: "function", function: { name: "find_city", parameters } };

const providers = {
  openai: { id: "openai:chat:gpt-4.1", config: { apiBaseUrl: `${url}/openai/v1`, apiKey: "any" } },
  "openai responses": { id: "openai:responses:gpt-4.1", config: { apiBaseUrl: `${url}/openai/v1`, apiKey: "any" } },
  anthropic: { id: "anthropic:messages:claude-haiku-4-5", config: { apiBaseUrl: `${url}/anthropic`, apiKey: "any", max_tokens: 500 } },
  google: { id: "google:gemini-2.5-flash", config: { apiBaseUrl: `${url}/gemini`, apiKey: "any" } },
};

function evaluated(provider, prompt, tests) {
  const whole = prompt === undefined ? provider : JSON.stringify({ prompts: [prompt], providers: [provider], tests });
  const [config, output] = [join(folder, "config.yaml"), join(folder, "output.json")];
  writeFileSync(config, whole);
  const quiet = { PROMPTFOO_DISABLE_TELEMETRY: "1", PROMPTFOO_DISABLE_UPDATE: "1", PROMPTFOO_CONFIG_DIR: folder, CI: "1" };
  const done = spawnSync(process.execPath, [program, "eval", "-c", config, "-o", output, "--no-cache", "--no-progress-bar", "--no-table"],
    { env: { ...process.env, ...quiet }, encoding: "utf8", timeout: 120_000 });
  try {
    return JSON.parse(readFileSync(output, "utf8")).results.results;
  } catch {
    throw new Error((done.stderr || done.stdout || "no word").trim().slice(-300));
  }
}

function rows(provider) {
  const tests = [...Array(6).keys()].map((n) => ({ vars: { n: `${n}` }, assert: [{ type: "contains", value: `Row ${n}` }] }));
  const found = evaluated(provider, "Row {{n}}?", tests);
  const right = found.filter((one) => one.success).length;
  if (right !== 6) throw new Error(`${right} of 6 rows right: ${JSON.stringify(found[0]?.error ?? found[0]?.response)}`);
  return "6 of 6 rows right";
}

function called() {
  const provider = { ...providers.openai, config: { ...providers.openai.config, tools: [tool], tool_choice: "required" } };
  const [one] = evaluated(provider, "Hello.", [{ assert: [{ type: "is-valid-openai-tools-call" }] }]);
  if (!one.success) throw new Error(JSON.stringify(one.error ?? one.response));
  return "find_city, and valid by its own check";
}

function manual() {
  const text = readFileSync(join(import.meta.dirname, "..", "..", "docs", "emulator.md"), "utf8");
  const block = text.match(/```yaml promptfoo\n([^]*?)```/)[1].replaceAll("http://127.0.0.1:8765", url);
  const found = evaluated(block);
  if (found.length !== 1 || !found[0].success) throw new Error(JSON.stringify(found[0]?.error ?? found));
  return "as the manual has it";
}

let failed = false;
const deeds = { manual, ...Object.fromEntries(Object.entries(providers).map(([name, one]) => [name, () => rows(one)])), "openai tool": called };
for (const [name, deed] of Object.entries(deeds)) {
  try {
    console.log(`ok promptfoo ${version} ${name}: ${deed()}`);
  } catch (error) {
    failed = true;
    console.log(`wrong promptfoo ${version} ${name}: ${String(error.message).replaceAll("\n", " ").slice(0, 300)}`);
  }
}
rmSync(folder, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
