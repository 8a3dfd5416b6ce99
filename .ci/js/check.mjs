// Has the official SDKs talk to servers that look like their vendors'.
//   node check.mjs MODULES < SERVERS
// MODULES is the folder in which the SDKs are installed. SERVERS is JSON: for each name below, the
// URL of a server and what it will say. A Go test of agentloop/looptest makes them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const require = createRequire(path.join(path.resolve(process.argv[2]), "package.json"));
const { OpenAI, NotFoundError } = require("openai");
const { Anthropic, APIError } = require("@anthropic-ai/sdk");

const user = [{ role: "user", content: "What is the weather?" }];
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };

const openai = (url) => new OpenAI({ apiKey: "key", baseURL: url + "/v1", maxRetries: 1 });
const chat = {
  model: "m", messages: user,
  tools: [{ type: "function", function: { name: "weather", parameters: schema } }],
};

const responses = { model: "m", input: user, store: false,
  tools: [{ type: "function", name: "weather", parameters: schema, strict: false }] };

const anthropic = (url) => new Anthropic({ apiKey: "key", baseURL: url, maxRetries: 1 });
const messages = {
  model: "m", messages: user, max_tokens: 100, tools: [{ name: "weather", input_schema: schema }],
};

function checkChat(completion, said) {
  const [choice] = completion.choices;
  assert.equal(choice.message.content, said.text);
  assert.equal(choice.finish_reason, "tool_calls");
  assert.deepEqual(choice.message.tool_calls.map((c) => [c.id, c.function.name, c.function.arguments]),
    said.calls.map((c) => [c.id, c.name, c.arguments]));
  assert.equal(completion.usage.prompt_tokens, said.usage.input);
  assert.equal(completion.usage.completion_tokens, said.usage.output);
}

function checkResponse(response, said) {
  assert.equal(response.output_text, said.text);
  const of = (type) => response.output.filter((item) => item.type === type);
  assert.equal(of("reasoning")[0].summary[0].text, said.reasoning);
  assert.deepEqual(of("function_call").map((c) => [c.call_id, c.name, c.arguments]),
    said.calls.map((c) => [c.id, c.name, c.arguments]));
  assert.equal(response.usage.input_tokens, said.usage.input);
  assert.equal(response.usage.output_tokens, said.usage.output);
}

function checkMessage(message, said) {
  const of = (type) => message.content.filter((block) => block.type === type);
  assert.equal(of("text")[0].text, said.text);
  assert.equal(of("thinking")[0].thinking, said.reasoning);
  assert.ok(of("thinking")[0].signature);
  assert.equal(message.stop_reason, "tool_use");
  assert.deepEqual(of("tool_use").map((c) => [c.id, c.name, c.input]),
    said.calls.map((c) => [c.id, c.name, JSON.parse(c.arguments)]));
  assert.equal(message.usage.input_tokens + message.usage.cache_read_input_tokens, said.usage.input);
  assert.equal(message.usage.output_tokens, said.usage.output);
}

const weather = (calls) => async (input) => {
  calls.push(input);
  return `3 degrees in ${input.city}`;
};

const checks = {
  "openai whole": async (url, said) =>
    checkChat(await openai(url).chat.completions.create(chat), said),

  "openai streamed": async (url, said) => {
    const stream = openai(url).chat.completions.stream(
      { ...chat, stream_options: { include_usage: true } });
    let told = "";
    stream.on("content", (delta) => { told += delta; });
    checkChat(await stream.finalChatCompletion(), said);
    assert.equal(told, said.text);
  },

  "openai tools": async (url, said) => {
    const calls = [];
    const runner = openai(url).chat.completions.runTools({
      ...chat, stream: true,
      tools: [{ type: "function", function: {
        name: "weather", parameters: schema, parse: JSON.parse, function: weather(calls) } }],
    });
    assert.equal(await runner.finalContent(), said.text);
    assert.deepEqual(calls, [{ city: "Oslo" }, { city: "Rome" }]);
  },

  "openai refused": (url) => assert.rejects(openai(url).chat.completions.create(chat),
    (err) => err instanceof NotFoundError && err.status === 404 && /no such model/.test(err.message)),

  "openai retried": async (url, said) => {
    const completion = await openai(url).chat.completions.create(chat);
    assert.equal(completion.choices[0].message.content, said.text);
  },

  "openai broken": (url) => assert.rejects(async () => {
    for await (const _ of await openai(url).chat.completions.create({ ...chat, stream: true }));
  }, /too busy/),

  "responses whole": async (url, said) =>
    checkResponse(await openai(url).responses.create(responses), said),

  "responses streamed": async (url, said) => {
    const stream = openai(url).responses.stream(responses);
    let told = "";
    stream.on("response.output_text.delta", (event) => { told += event.delta; });
    checkResponse(await stream.finalResponse(), said);
    assert.equal(told, said.text);
  },

  "responses tools": async (url, said) => {
    const calls = [];
    const input = [...user];
    let response;
    do {
      response = await openai(url).responses.stream({ ...responses, input }).finalResponse();
      input.push(...response.output);
      for (const item of response.output.filter((i) => i.type === "function_call")) {
        input.push({ type: "function_call_output", call_id: item.call_id,
          output: await weather(calls)(JSON.parse(item.arguments)) });
      }
    } while (input.at(-1).type === "function_call_output");
    assert.equal(response.output_text, said.text);
    assert.deepEqual(calls, [{ city: "Oslo" }, { city: "Rome" }]);
  },

  "responses refused": (url) => assert.rejects(openai(url).responses.create(responses),
    (err) => err instanceof NotFoundError && err.status === 404 && /no such model/.test(err.message)),

  "responses retried": async (url, said) => {
    const response = await openai(url).responses.create(responses);
    assert.equal(response.output_text, said.text);
  },

  "responses broken": async (url) => {
    const types = [];
    for await (const event of await openai(url).responses.create({ ...responses, stream: true })) {
      types.push(event.type);
      if (event.type === "response.failed") {
        assert.match(event.response.error.message, /too busy/);
      }
    }
    assert.equal(types.at(-1), "response.failed");
  },

  "anthropic whole": async (url, said) =>
    checkMessage(await anthropic(url).messages.create(messages), said),

  "anthropic streamed": async (url, said) => {
    const stream = anthropic(url).messages.stream(messages);
    let told = "";
    stream.on("text", (delta) => { told += delta; });
    checkMessage(await stream.finalMessage(), said);
    assert.equal(told, said.text);
  },

  "anthropic tools": async (url, said) => {
    const calls = [];
    const history = [...user];
    let message;
    do {
      message = await anthropic(url).messages.stream({ ...messages, messages: history }).finalMessage();
      history.push({ role: "assistant", content: message.content });
      const results = [];
      for (const block of message.content.filter((b) => b.type === "tool_use")) {
        results.push({ type: "tool_result", tool_use_id: block.id,
          content: await weather(calls)(block.input) });
      }
      history.push({ role: "user", content: results });
    } while (message.stop_reason === "tool_use");
    assert.equal(message.content.at(-1).text, said.text);
    assert.deepEqual(calls, [{ city: "Oslo" }, { city: "Rome" }]);
  },

  "anthropic refused": (url) => assert.rejects(anthropic(url).messages.create(messages),
    (err) => err instanceof APIError && err.status === 404 && err.error.error.type === "not_found_error"),

  "anthropic retried": async (url, said) => {
    const message = await anthropic(url).messages.create(messages);
    assert.equal(message.content[0].text, said.text);
  },

  "anthropic broken": (url) => assert.rejects(
    anthropic(url).messages.stream(messages).finalMessage(), /too busy/),
};

const servers = JSON.parse(readFileSync(0, "utf8"));
assert.deepEqual(Object.keys(servers).sort(), Object.keys(checks).sort());
let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check(servers[name].url, servers[name].said);
  } catch (err) {
    failed++;
    console.log(`${name}: ${err.stack}`);
  }
}
console.log(`${Object.keys(checks).length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
