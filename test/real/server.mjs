// A small server with OpenAI's routes for a GGUF model, in llama.cpp by node-llama-cpp. It copies
// the rules of usual servers that a client must cope with:
//
//   --format    grammar   a JSON schema becomes a grammar
//               loose     the same, but the grammar allows newlines after the value without end
//               ignore    response_format is accepted and ignored
//               refuse    response_format and a forced tool are errors
//   --overflow  vllm      a prompt and its max_tokens must fit the window together
//               llamacpp  the prompt must fit; the answer ends when the window is full
//               shift     the same, but the oldest tokens make room, so an answer may be endless
//
// --max-output limits each answer, in tokens. The server prints {"address": ...} when it listens. --log names a file for a line of JSON per request:
// status, tokens, times, the messages and the answer. Prompts that share a prefix with the one
// before in their slot evaluate only the rest. A closed connection ends its generation.
import { appendFileSync } from "node:fs";
import http from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const { values: flags } = parseArgs({
  options: {
    modules: { type: "string" }, // folder with node_modules
    model: { type: "string" },
    name: { type: "string", default: "real" },
    port: { type: "string", default: "0" },
    context: { type: "string", default: "8192" },
    threads: { type: "string", default: "1" },
    slots: { type: "string", default: "1" },
    temperature: { type: "string", default: "0.2" },
    seed: { type: "string" },
    format: { type: "string", default: "grammar" },
    overflow: { type: "string", default: "vllm" },
    "max-output": { type: "string", default: "Infinity" },
    log: { type: "string" },
  },
});
const choices = { format: ["grammar", "loose", "ignore", "refuse"], overflow: ["vllm", "llamacpp", "shift"] };
for (const [name, list] of Object.entries(choices)) {
  if (!list.includes(flags[name])) throw new Error(`--${name} is one of ${list.join(", ")}`);
}
const enforced = flags.format === "grammar" || flags.format === "loose";
const window = Number(flags.context);

const library = path.join(flags.modules, "node_modules", "node-llama-cpp", "dist", "index.js");
const { getLlama, LlamaGrammarEvaluationState } = await import(pathToFileURL(library));
const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, maxThreads: 0, logLevel: "error" });
const model = await llama.loadModel({ modelPath: flags.model, gpuLayers: 0 });
const context = await model.createContext({ sequences: Number(flags.slots), contextSize: window, threads: Number(flags.threads), batchSize: 256 });
const slots = Array.from({ length: Number(flags.slots) }, () => ({ sequence: context.getSequence(), busy: false }));
const waiting = [];

class Refusal extends Error {
  constructor(message, fields = {}) {
    super(message);
    this.fields = { type: "BadRequestError", param: null, code: 400, ...fields };
  }
}

// Slots.

// takeSlot resolves to a free slot, preferably the one with the longest prefix of tokens.
function takeSlot(tokens) {
  const free = slots.filter((s) => !s.busy);
  if (free.length === 0) return new Promise((resolve) => waiting.push({ tokens, resolve }));
  const common = (s) => s.sequence.compareContextTokens(tokens).firstDifferentIndex;
  const best = free.reduce((a, b) => (common(b) > common(a) ? b : a));
  best.busy = true;
  return best;
}

async function releaseSlot(slot) {
  slot.busy = false;
  const next = waiting.shift();
  if (next) next.resolve(takeSlot(next.tokens));
}

// Prompts.

const textOf = (content) => (typeof content === "string" ? content : (content ?? []).map((p) => p.text ?? "").join(""));

const toolsPrompt = (tools) =>
  "You can call functions. Their signatures:\n<tools>\n" + tools.map((t) => JSON.stringify(t.function)).join("\n") +
  '\n</tools>\nTo call one, answer only with <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>.';

// renderPrompt writes the messages in the format of the model.
function renderPrompt(messages, tools) {
  const turns = messages.map((m) => ({
    role: m.role === "developer" ? "system" : m.role,
    text: textOf(m.content) + (m.tool_calls ?? []).map((c) => `<tool_call>{"name": ${JSON.stringify(c.function.name)}, "arguments": ${c.function.arguments}}</tool_call>`).join(""),
  }));
  if (tools.length > 0) {
    if (turns[0]?.role === "system") turns[0].text += "\n\n" + toolsPrompt(tools);
    else turns.unshift({ role: "system", text: toolsPrompt(tools) });
  }
  for (const t of turns) {
    if (t.role === "tool") Object.assign(t, { role: "user", text: `<tool_response>\n${t.text}\n</tool_response>` });
  }
  if (model.fileInfo.metadata.general.architecture.startsWith("gemma")) {
    const system = turns[0]?.role === "system" ? turns.shift().text + "\n\n" : "";
    if (turns[0]) turns[0].text = system + turns[0].text;
    return turns.map((t) => `<start_of_turn>${t.role === "assistant" ? "model" : "user"}\n${t.text}<end_of_turn>\n`).join("") + "<start_of_turn>model\n";
  }
  return turns.map((t) => `<|im_start|>${t.role}\n${t.text}<|im_end|>\n`).join("") + "<|im_start|>assistant\n";
}

// tokenize converts the special tokens of the template, but none in the text of messages.
function tokenize(text) {
  const tokens = text.split(/(<\|im_start\|>|<\|im_end\|>|<start_of_turn>|<end_of_turn>)/).flatMap((part, i) => model.tokenize(part, i % 2 === 1));
  return model.tokens.shouldPrependBosToken && model.tokens.bos != null ? [model.tokens.bos, ...tokens] : tokens;
}

// Grammars.

const grammars = new Map();

// toGbnfSchema renames anyOf, which node-llama-cpp does not know.
function toGbnfSchema(x) {
  if (Array.isArray(x)) return x.map(toGbnfSchema);
  if (x === null || typeof x !== "object") return x;
  return Object.fromEntries(Object.entries(x).map(([k, v]) => [k === "anyOf" ? "oneOf" : k, toGbnfSchema(v)]));
}

async function grammarFor(schema) {
  const key = JSON.stringify(schema);
  if (!grammars.has(key)) {
    const { grammar } = await llama.createGrammarForJsonSchema(toGbnfSchema(schema));
    // Its root ends with newlines, for a stop that this server does not use.
    const ending = flags.format === "loose" ? "$&" : "";
    grammars.set(key, await llama.createGrammar({ grammar: grammar.replace(/ "(\\n){4}" \[\\n\]\*/, ending) }));
  }
  return grammars.get(key);
}

// answerSchema returns the schema that the request enforces, if any.
function answerSchema(body) {
  const forced = typeof body.tool_choice === "object" ? body.tool_choice?.function?.name : undefined;
  if (flags.format === "refuse" && (body.response_format?.type.startsWith("json") || forced)) {
    throw new Refusal("response_format and tool_choice are not supported by this server");
  }
  if (!enforced) return {};
  if (forced) return { forced, schema: body.tools.find((t) => t.function.name === forced)?.function.parameters };
  if (body.response_format?.type === "json_schema") return { schema: body.response_format.json_schema.schema };
  if (body.response_format?.type === "json_object") return { schema: { type: "object", additionalProperties: true } };
  return {};
}

// checkFit returns the limit of output tokens, or throws the refusal of the copied server.
function checkFit(prompt, wanted) {
  if (flags.overflow === "vllm") {
    const output = wanted ?? window - prompt;
    if (prompt + Math.max(1, output) > window) {
      throw new Refusal(
        `This model's maximum context length is ${window} tokens. However, you requested ${wanted ?? 0} output tokens and your prompt contains ${prompt} input tokens, ` +
          `for a total of ${prompt + (wanted ?? 0)} tokens. Please reduce the length of the input prompt or the number of requested output tokens.`,
        { param: "input_tokens" },
      );
    }
    return output;
  }
  if (prompt >= window) {
    throw new Refusal(`request (${prompt} tokens) exceeds the available context size (${window} tokens), try increasing it`, {
      type: "exceed_context_size_error", n_prompt_tokens: prompt, n_ctx: window,
    });
  }
  return Math.min(wanted ?? Infinity, flags.overflow === "shift" ? Infinity : window - prompt);
}

// generate yields pieces of text and returns the end's reason and counts.
async function* generate(slot, tokens, { max, grammar, temperature, frequency, presence, seed, closed }, counts) {
  const { sequence } = slot;
  await sequence.adaptStateToTokens(tokens.slice(0, -1), false);
  counts.cached = sequence.nextTokenIndex;
  let rest = tokens.slice(counts.cached);
  for (; rest.length > 256; rest = rest.slice(256)) {
    if (closed()) return "closed";
    await sequence.evaluateWithoutGeneratingNewTokens(rest.slice(0, 256));
  }
  const written = []; // a penalty counts the tokens of the answer
  const repeatPenalty = frequency || presence ? { punishTokens: () => written, penalty: 1, frequencyPenalty: frequency, presencePenalty: presence } : false;
  const options = { temperature, topK: 40, topP: 0.95, minP: 0.05, seed, repeatPenalty, grammarEvaluationState: grammar && new LlamaGrammarEvaluationState({ model, grammar }) };
  let pending = [];
  const last = [];
  for await (const token of sequence.evaluate(rest, options)) {
    counts.first ??= Date.now();
    if (closed()) return "closed";
    counts.output++;
    written.push(token);
    pending.push(token);
    const text = model.detokenize(pending, false, last);
    if (!text.endsWith("\ufffd") || pending.length > 8) {
      yield text;
      last.push(...pending);
      last.splice(0, Math.max(0, last.length - 16));
      pending = [];
    }
    if (counts.output >= max) return "length";
  }
  return "stop";
}

// Routes.

function readCalls(text) {
  const calls = [];
  for (const [, json] of text.matchAll(/<tool_call>\s*([\s\S]*?)\s*(?:<\/tool_call>|$)/g)) {
    try {
      for (const c of [JSON.parse(json)].flat()) calls.push({ name: String(c.name), arguments: JSON.stringify(c.arguments ?? {}) });
    } catch {
      return []; // no call: it stays text
    }
  }
  return calls.map((c, i) => ({ index: i, id: `call_${Date.now()}_${i}`, type: "function", function: c }));
}

async function complete(req, res, body, note) {
  const tools = body.tool_choice === "none" ? [] : (body.tools ?? []);
  const { schema, forced } = answerSchema(body);
  const tokens = tokenize(renderPrompt(body.messages, schema && forced ? [] : tools));
  note.prompt = tokens.length;
  const max = Math.min(checkFit(tokens.length, body.max_tokens ?? body.max_completion_tokens), Number(flags["max-output"]));
  const grammar = schema && (await grammarFor(schema));
  let gone = false;
  res.on("close", () => (gone = !res.writableFinished));

  const base = { id: `chatcmpl-${note.n}`, created: Math.floor(Date.now() / 1000), model: flags.name };
  const send = (choice, more = {}) => res.write(`data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", choices: choice ? [{ index: 0, finish_reason: null, ...choice }] : [], ...more })}\n\n`);
  if (body.stream) {
    res.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
    send({ delta: { role: "assistant", content: "" } });
  }
  const slot = await takeSlot(tokens);
  const counts = { output: 0, cached: 0 };
  note.waited = Date.now() - note.began;
  let text = "", sent = 0, finish;
  try {
    const pieces = generate(slot, tokens, {
      max, grammar, closed: () => gone, temperature: body.temperature ?? Number(flags.temperature), frequency: body.frequency_penalty ?? 0, presence: body.presence_penalty ?? 0,
      seed: body.seed ?? (flags.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(flags.seed)),
    }, counts);
    for (;;) {
      const { value, done } = await pieces.next();
      if (done) {
        finish = value;
        break;
      }
      text += value;
      const maybeCall = tools.length > 0 && "<tool_call>".startsWith(text.trimStart().slice(0, 11));
      if (body.stream && !forced && !maybeCall) {
        send({ delta: { content: text.slice(sent) } });
        sent = text.length;
      }
    }
  } finally {
    Object.assign(note, counts, { first: counts.first && counts.first - note.began, finish, text });
    releaseSlot(slot);
  }
  if (gone) return;
  let calls = tools.length > 0 && text.trimStart().startsWith("<tool_call>") ? readCalls(text) : [];
  if (forced) calls = [{ index: 0, id: `call_${note.n}`, type: "function", function: { name: forced, arguments: text } }];
  if (calls.length > 0 && finish === "stop") finish = "tool_calls";
  const usage = {
    prompt_tokens: tokens.length, completion_tokens: counts.output, total_tokens: tokens.length + counts.output,
    prompt_tokens_details: { cached_tokens: counts.cached },
  };
  if (!body.stream) {
    const message = { role: "assistant", content: calls.length > 0 ? null : text, ...(calls.length > 0 && { tool_calls: calls }) };
    reply(res, 200, { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason: finish }], usage });
    return;
  }
  if (calls.length > 0) send({ delta: { tool_calls: calls } });
  else if (sent < text.length) send({ delta: { content: text.slice(sent) } });
  send({ delta: {}, finish_reason: finish });
  if (body.stream_options?.include_usage) send(null, { usage });
  res.end("data: [DONE]\n\n");
}

function reply(res, status, value) {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify(value));
}

function listModels() {
  const one = { id: flags.name, object: "model", created: 0, owned_by: flags.overflow === "vllm" ? "vllm" : "llamacpp" };
  if (flags.overflow === "vllm") one.max_model_len = window;
  else one.meta = { n_ctx_train: model.trainContextSize, n_vocab: 0 };
  return { object: "list", data: [one] };
}

let requests = 0;

async function handle(req, res) {
  const url = req.url.replace(/\?.*/, "");
  if (url === "/health") return reply(res, 200, { status: "ok" });
  if (url === "/v1/models") return reply(res, 200, listModels());
  if (url === "/props" && flags.overflow !== "vllm") return reply(res, 200, { default_generation_settings: { n_ctx: window }, total_slots: slots.length });
  if (url !== "/v1/chat/completions" || req.method !== "POST") return reply(res, 404, { error: { message: "Not Found", type: "NotFoundError", param: null, code: 404 } });

  const note = { n: ++requests, began: Date.now() };
  let body;
  try {
    const parts = [];
    for await (const part of req) parts.push(part);
    body = JSON.parse(Buffer.concat(parts));
    Object.assign(note, { max: body.max_tokens ?? body.max_completion_tokens, schema: body.response_format?.json_schema?.name, stream: !!body.stream });
    await complete(req, res, body, note);
    note.status = 200;
  } catch (err) {
    const fields = err.fields ?? { type: "InternalServerError", param: null, code: err instanceof SyntaxError ? 400 : 500 };
    Object.assign(note, { status: fields.code, error: err.message });
    if (!(err instanceof Refusal)) console.error(err);
    if (res.headersSent) res.destroy();
    else reply(res, fields.code, { error: { message: err.message, ...fields } });
  }
  note.took = Date.now() - note.began;
  if (flags.log) appendFileSync(flags.log, JSON.stringify({ ...note, messages: body?.messages, tools: body?.tools?.length }) + "\n");
}

const server = http.createServer((req, res) => handle(req, res).catch((err) => (console.error(err), res.destroy())));
server.requestTimeout = 0;
server.listen(Number(flags.port), "127.0.0.1", () => console.log(JSON.stringify({ address: `http://127.0.0.1:${server.address().port}` })));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(0));
