// Makes random modules with binaryen's wasm-opt, always the same ones.
//   node random.js WASM-OPT FOLDER COUNT
// wasm-opt is a program for Node.js with a large module inside, which takes longer to compile than
// anything it does here. So it is compiled once, and the program runs in this process for each
// module.
"use strict";
const { createHash } = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");

const [wasmOpt, folder, count] = process.argv.slice(2);

// What plugins may use. -mvp takes everything else away.
const features = ["bulk-memory", "bulk-memory-opt", "sign-ext", "mutable-globals",
  "nontrapping-float-to-int", "multivalue", "reference-types", "simd", "tail-call"];

const program = new Function("Module", "module", "require", "__filename", "__dirname",
  fs.readFileSync(wasmOpt, "utf8").replace(/^#!.*/, ""));

let compiled;
WebAssembly.instantiate = async (binary, imports) => {
  compiled ??= new WebAssembly.Module(binary);
  return { module: compiled, instance: new WebAssembly.Instance(compiled, imports) };
};

function run(...args) {
  process.argv = [process.argv[0], wasmOpt, ...args];
  return new Promise((resolve) =>
    program({ postRun: [resolve] }, {}, require, wasmOpt, path.dirname(wasmOpt)));
}

async function main() {
  const seed = path.join(folder, "seed");
  for (let i = 0; i < Number(count); i++) {
    const outputLength = 500 + (i * 7919) % 30000; // bytes; a module has about half as many
    const file = path.join(folder, String(i).padStart(5, "0") + ".wasm");
    fs.writeFileSync(seed, createHash("shake256", { outputLength }).update(`module ${i}`).digest());
    await run("-q", "-ttf", "-mvp", ...features.map((f) => "--enable-" + f), seed, "-o", file);
    if (!fs.existsSync(file)) throw new Error(`wasm-opt made no ${file}`);
  }
  fs.rmSync(seed);
}

main();
