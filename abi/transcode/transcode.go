// Package transcode carries values between JSON and msgpack in one pass, and guards both ways.
//
// Towards a guest, [AppendMsgpack] turns arguments into msgpack and refuses what JSON can say and
// no guest can be handed without loss: duplicate keys, lone surrogates, integers of more than 64
// bits. Back from a guest, whose bytes are hostile, [AppendJSON] turns a result into JSON, and
// [Scan] checks whatever another decoder is to see.
//
// All three are safe on any bytes. They are iterative and nest no deeper than MaxDepth, take no
// declared length on trust, and find duplicate keys in linear time with a seeded hash, so that
// their cost is bounded by the bytes that are there. Beyond what dst has to grow, ordinary values
// cost no allocation.
//
// # What becomes what
//
// Integers keep every digit, up to int64 and uint64. Every other JSON number is a 64-bit float, and
// -0 is one too. Of msgpack, a float prints as encoding/json prints a float64, or a float32 where
// it has 32 bits; bin becomes a base64 string and a timestamp an RFC 3339 string in UTC.
package transcode

// Limits of what is scanned and carried, which no policy can raise.
const (
	MaxDepth      = 64        // arrays and maps inside one another
	MaxNodes      = 1_000_000 // values of arguments and results, string keys not counted
	MaxSmallNodes = 10_000    // values of manifests, failures and host-call payloads
)
