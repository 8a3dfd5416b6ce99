// Has the TypeScript SDK's client talk to the MCP server.
//   node check.mjs MODULES SERVER
// MODULES is the folder in which the client is installed. SERVER is a program that serves tools, on
// its standard streams or on the URL that it prints; a Go test of mcpserver gives it.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import path from "node:path";
import { createInterface } from "node:readline";

const [modules, server] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "package.json"));
const { Client, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const variable = "WASMAGENT_MCP_TEST_SERVER";
const requestInit = { headers: { Authorization: "Bearer test-token-0123456789" } };

const modes = { legacy: "2025-11-25", auto: "2026-07-28" };

const checks = {
  async list(client) {
    const { tools } = await client.listTools();
    const names = tools.map((t) => t.name);
    assert.ok(names.includes("echo") && names.includes("read_more"), String(names));
    assert.deepEqual(tools.find((t) => t.name === "echo").annotations,
      { readOnlyHint: true, destructiveHint: false, idempotentHint: false });
  },

  async results(client) {
    await client.listTools(); // so that results are held against their schemas
    const point = await client.callTool({ name: "point", arguments: { x: 7 } });
    assert.deepEqual(point.structuredContent, { x: 7 });
    const count = await client.callTool({ name: "count" });
    assert.deepEqual(count.structuredContent, { result: 42 });
    await client.listTools(); // again: references must not clash with those of before
    const tree = await client.callTool({ name: "tree" });
    assert.deepEqual(tree.structuredContent, { result: [[], null] });
    const image = await client.callTool({ name: "image" });
    assert.deepEqual(image.content.map((c) => c.type),
      ["text", "image", "audio", "resource", "resource"]);
  },

  async failures(client) {
    await client.listTools();
    for (const [name, kind] of Object.entries({
      point: "invalid_input", fail_key: "missing_idempotency_key", fail_handler: "handler",
      fail_malformed: "malformed_result", fail_serialization: "output_serialization",
    })) {
      const res = await client.callTool({ name, arguments: { x: "one" } });
      assert.equal(res.isError, true, name);
      assert.equal(res._meta["wasmagent/error"].kind, kind);
      assert.equal(res.structuredContent, undefined);
      assert.ok(res.content[0].text.length > 0);
    }
    const host = await client.callTool({ name: "fail_host" });
    assert.ok(host.isError && !JSON.stringify(host).includes("sda"));
    await assert.rejects(client.callTool({ name: "nobody" }), /unknown tool/);
  },

  async progress(client) {
    const seen = [];
    let release;
    const onprogress = (p) => {
      seen.push(p);
      release ??= client.callTool({ name: "release" });
    };
    const held = await client.callTool({ name: "hold" }, { onprogress });
    await release;
    assert.equal(held.content[0].text, "true");
    assert.deepEqual(seen, [{ progress: 1, total: 2 }]);
  },

  async cancel(client) {
    const stop = new AbortController();
    const call = client.callTool({ name: "wait" },
      { signal: stop.signal, onprogress: () => stop.abort("enough") });
    await assert.rejects(call);
    const next = await client.callTool({ name: "count" });
    assert.equal(next.content[0].text, "42");
  },

  async changes(client, changed) {
    await client.callTool({ name: "grow" });
    const tools = await changed;
    assert.ok(tools.some((t) => t.name === "grown"));
    const grown = await client.callTool({ name: "grown" });
    assert.equal(grown.content[0].text, "1");
  },
};

async function run(transport, mode, check) {
  let tell;
  const changed = new Promise((resolve) => { tell = resolve; });
  const client = new Client({ name: "check", version: "1" }, {
    versionNegotiation: { mode },
    listChanged: { tools: { onChanged: (error, tools) => tell(error ? Promise.reject(error) : tools) } },
  });
  await client.connect(transport);
  try {
    assert.equal(client.getNegotiatedProtocolVersion(), modes[mode]);
    await checks[check](client, changed);
  } finally {
    await client.close();
  }
}

function stdio() {
  return new StdioClientTransport(
    { command: server, env: { ...process.env, [variable]: "stdio" }, stderr: "ignore" });
}

// http starts a server of its own, so that no check sees what another one has changed.
async function http(use) {
  const child = spawn(server, { env: { ...process.env, [variable]: "http" },
    stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [url] = await once(createInterface(child.stdout), "line");
    await use(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  } finally {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
}

let passed = 0, failed = 0;
for (const transport of ["stdio", "http"]) {
  for (const mode of Object.keys(modes)) {
    for (const check of Object.keys(checks)) {
      try {
        if (transport === "stdio") await run(stdio(), mode, check);
        else await http((t) => run(t, mode, check));
        passed++;
      } catch (error) {
        failed++;
        console.log(`${transport} ${mode} ${check}: ${error.stack}`);
      }
    }
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
