// Package abihost is the host's side of the contract: it reads the manifest by which a guest
// describes itself and the payloads of its host calls, and finds and stamps the custom section that
// holds a manifest.
//
// All of it is hostile. Payloads are decoded by vmihailenco/msgpack, which must never see bytes
// that have not been scanned: five of them can end the process. So every function here scans first,
// checks the shape of what was decoded field by field, and cleans the words that people and models
// will see.
package abihost
