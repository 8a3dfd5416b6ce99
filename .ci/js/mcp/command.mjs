// Has the TypeScript SDK's client use the real command, over both transports and in both eras.
//   node command.mjs MODULES SETTINGS PLUGINS SPARE
// MODULES is the folder in which the client is installed, SETTINGS the file that the command's own
// "mcp config" wrote, PLUGINS the directory that it serves. SPARE has two versions of a plugin,
// old.wasm and new.wasm, that become PLUGINS/late.wasm. A Go test of the command gives them all.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";

const [modules, settings, plugins, spare] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "package.json"));
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const server = JSON.parse(readFileSync(settings)).mcpServers.wasmagent;
const late = path.join(plugins, "late.wasm");

const checks = {
  async list(client) {
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((t) => t.name),
      ["busy", "fail", "greet", "keyed", "nan", "read_more", "trap"]);
  },

  async call(client) {
    const greeted = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
    assert.deepEqual(greeted.structuredContent, { name: "Ada" });
  },

  async failures(client) {
    for (const [name, args, kind, cause] of [
      ["greet", { times: "often" }, "invalid_input", "schema"],
      ["keyed", {}, "missing_idempotency_key", "key"],
      ["fail", {}, "handler", "failed"],
      ["trap", {}, "malformed_result", "trap.unreachable"],
      ["nan", {}, "output_serialization", "no_json"],
    ]) {
      const res = await client.callTool({ name, arguments: args });
      assert.equal(res.isError, true, name);
      assert.equal(res._meta["wasmagent/error"].kind, kind);
      assert.equal(res._meta["wasmagent/error"].cause, cause);
      assert.equal(res.structuredContent, undefined);
      assert.ok(res.content[0].text.length > 0);
    }
    await assert.rejects(client.callTool({ name: "nobody" }), /unknown tool/);
  },

  // Progress that comes in one piece with the result is lost in the client, so the call goes on.
  // Its plugin may run in one instance only: the second call begins when the first one has ended.
  async "progress and cancel"(client) {
    for (let i = 0; i < 2; i++) {
      const seen = [];
      const stop = new AbortController();
      const onprogress = (p) => { seen.push(p); stop.abort("enough"); };
      await assert.rejects(client.callTool({ name: "busy" }, { signal: stop.signal, onprogress }),
        /enough/);
      assert.deepEqual(seen, [{ progress: 1, total: 2 }]);
    }
  },

  async changes(client, changed) {
    const find = (tools) => tools.find((t) => t.name === "late");
    copyFileSync(path.join(spare, "old.wasm"), late);
    assert.equal(find(await changed()).description, undefined);
    copyFileSync(path.join(spare, "new.wasm"), late);
    assert.match(find(await changed()).description, /Give the arguments back/);
    const res = await client.callTool({ name: "late", arguments: { name: "Ada" } });
    assert.deepEqual(res.structuredContent, { name: "Ada" });
    rmSync(late);
    assert.equal(find(await changed()), undefined);
    await assert.rejects(client.callTool({ name: "late" }), /unknown tool/);
  },
};

// A client's lists of changed tools, in turn.
function listens() {
  const lists = [];
  let wake = () => {};
  return {
    onChanged(error, tools) {
      lists.push(error ? Promise.reject(error) : tools);
      wake();
    },
    async next() {
      if (!lists.length) await new Promise((resolve) => { wake = resolve; });
      return lists.shift();
    },
  };
}

async function run(transport, mode, version) {
  const heard = listens();
  const client = new Client({ name: "check", version: "1" }, {
    versionNegotiation: { mode },
    listChanged: { tools: { onChanged: heard.onChanged, debounceMs: 0 } },
  });
  await client.connect(transport);
  try {
    assert.equal(client.getNegotiatedProtocolVersion(), version);
    for (const [name, check] of Object.entries(checks)) {
      await check(client, heard.next);
      console.log(`${transport.constructor.name} ${version} ${name}: ok`);
    }
  } finally {
    await client.close();
  }
}

// http starts the command as a server over HTTP, and gives a transport to it.
async function http(use) {
  const child = spawn(server.command, [...server.args, "--http", "127.0.0.1:0"],
    { env: { HOME: process.env.HOME, ...server.env }, stdio: ["ignore", "ignore", "pipe"] });
  try {
    for await (const line of createInterface(child.stderr)) {
      const [, url, file] = line.match(/serving MCP at (\S+); bearer token: in (.+)/) ?? [];
      if (!url) continue;
      child.stderr.resume();
      const headers = { Authorization: `Bearer ${readFileSync(file, "utf8").trim()}` };
      await use(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
      return;
    }
    throw new Error("the server told no address");
  } finally {
    child.kill("SIGTERM");
    const [code] = await once(child, "exit");
    assert.equal(code, 0);
  }
}

const deadline = setTimeout(() => {
  console.log("something did not come within three minutes");
  process.exit(1);
}, 180_000);
for (const [mode, version] of Object.entries({ legacy: "2025-11-25", auto: "2026-07-28" })) {
  await run(new StdioClientTransport({ ...server, stderr: "inherit" }), mode, version);
  await http((transport) => run(transport, mode, version));
}
console.log("passed");
clearTimeout(deadline);
