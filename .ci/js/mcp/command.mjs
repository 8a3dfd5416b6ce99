// Has the TypeScript SDK's client start the real command, as its settings say, in both eras.
//   node command.mjs MODULES SETTINGS
// MODULES is the folder in which the client is installed, SETTINGS the file that the command's own
// "mcp config" wrote; a Go test of the command gives both.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const [modules, settings] = process.argv.slice(2);
const require = createRequire(path.join(path.resolve(modules), "package.json"));
const { Client } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");

const server = JSON.parse(readFileSync(settings)).mcpServers.wasmagent;
for (const [mode, version] of Object.entries({ legacy: "2025-11-25", auto: "2026-07-28" })) {
  const client = new Client({ name: "check", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({ ...server, stderr: "inherit" }));
  try {
    assert.equal(client.getNegotiatedProtocolVersion(), version);
    const { tools } = await client.listTools();
    assert.deepEqual(tools.map((t) => t.name), ["greet", "read_more", "trap"]);
    const greeted = await client.callTool({ name: "greet", arguments: { name: "Ada" } });
    assert.deepEqual(greeted.structuredContent, { name: "Ada" });
    const broken = await client.callTool({ name: "trap" });
    assert.ok(broken.isError);
    assert.equal(broken._meta["wasmagent/error"].kind, "malformed_result");
  } finally {
    await client.close();
  }
}
console.log("passed");
