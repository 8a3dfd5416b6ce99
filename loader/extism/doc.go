// Package extism makes tools of plugins that are written for Extism, unmodified.
//
// Such a plugin exports functions and describes none of them, so the operator's policy names those
// that are to be tools, with their descriptions and schemas: loader.Decision.Functions. Everything
// else is as for this project's own plugins: the checks before a byte runs, the limits, what is
// granted, and a state that no other call has touched.
//
// # What a guest finds
//
// The functions of extism:host/env, over a memory of blocks that it shares with its host. That
// memory is the call's own, counts together with the guest's linear memory, and keeps its table of
// blocks where the guest cannot reach it. Beside these, WASI, and the functions that an embedder
// adds: those reach blocks by [Read], [Write] and [Free].
//
//   - The input is the call's arguments as JSON, or the one string among them.
//   - The output is read when the function has returned. JSON stays JSON, any other text becomes a
//     string, and what is no text has no JSON form.
//   - A function that returns another number than 0, or sets an error, has failed: this is the
//     guest's own report, and permanent, since it has no way to say that another time may go better.
//   - Config is the policy's. Variables live as long as a call; with kv granted they are the
//     plugin's own keys there, and stay.
//   - http_request goes through the policy's rules on every hop. Extism has no way to tell a guest
//     that a request was refused or did not get through, so that ends the call, as a failure that
//     says why.
//
// # Engines
//
// The native one, which the above is about, is the default. The other is Extism's own SDK, for
// plugins that are linked of several modules; a policy chooses it by engine = "extism-sdk", and the
// program by Options.SDKCommand. It runs in processes that are killed at a limit, has an instance for
// each call, at most [MaxProcesses] at a time, and sends requests through the same rules. Variables
// last as long as the call. A policy with files, kv, a limit of fuel or fixed time is refused with an
// [EngineError]: the SDK keeps none of them.
//
// # Manifests
//
// An Extism manifest, NAME.extism.json beside other plugins or manifest.json in a folder of its
// own, is a plugin: one module of its main module and of itself, over which its digest goes. What it
// wishes for are needs, which it is not given; its limits count where they are lower than the
// policy's; its config are defaults.
package extism
