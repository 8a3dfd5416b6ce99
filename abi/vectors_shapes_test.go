package abi_test

import (
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
)

// A pair is a key and a value, in the order in which they are written.
type pair struct {
	key   string
	value any
}

// pack codes what vectors are made of: nil, bools, ints, strings, []byte as bin, arrays and maps.
func pack(v any) string {
	var b []byte
	switch v := v.(type) {
	case nil:
		b = abi.AppendNil(b)
	case bool:
		b = abi.AppendBool(b, v)
	case int:
		b = abi.AppendInt(b, int64(v))
	case string:
		b = abi.AppendString(b, v)
	case []byte:
		b = abi.AppendBin(b, v)
	case []any:
		b = abi.AppendArrayHeader(b, len(v))
		for _, x := range v {
			b = append(b, pack(x)...)
		}
	case []pair:
		b = abi.AppendMapHeader(b, len(v))
		for _, p := range v {
			b = abi.AppendString(b, p.key)
			b = append(b, pack(p.value)...)
		}
	default:
		panic("no such value in a vector")
	}
	return string(b)
}

func requestVectors() []vector {
	const bad = "bad_envelope"
	least := []pair{{"v", 1}, {"tool", "add"}, {"input", []pair{{"a", 1}}}}
	full := []pair{{"v", 1}, {"tool", "add"}, {"call_id", "c1"}, {"attempt", 2}, {"key", "k"},
		{"deadline_ms", 30000}, {"host", []any{"x"}}, {"input", nil}}
	with := func(p ...pair) string { return pack(append(slices.Clone(least), p...)) }
	return []vector{
		{"least", "What every request has.", "ok", "", pack(least), "add"},
		{"full", "All that version 1 knows.", "ok", "", pack(full), "add"},
		{"unknown_keys", "Readers ignore keys that they do not know.", "ok", "",
			with(pair{"trace", []any{1, nil}}, pair{"x", true}), "add"},
		{"not_a_map", "A request is a map.", bad, "0", pack([]any{1}), ""},
		{"no_version", "The version is missing.", bad, "0", pack(least[1:]), ""},
		{"version_2", "Another version.", bad, "0",
			pack([]pair{{"v", 2}, {"tool", "add"}, {"input", 1}}), ""},
		{"no_tool", "The tool is missing.", bad, "0", pack([]pair{{"v", 1}, {"input", 1}}), ""},
		{"no_input", "The input is missing.", bad, "0", pack(least[:2]), ""},
		{"tool_not_a_string", "The tool is an integer.", bad, "9",
			pack([]pair{{"v", 1}, {"tool", 7}, {"input", 1}}), ""},
		{"attempt_of_33_bits", "The attempt needs more than 32 bits.", bad, "31",
			with(pair{"attempt", 1 << 40}), ""},
		{"trailing", "A byte follows.", bad, "23", pack(least) + "\xc0", ""},
	}
}

func replyVectors() []vector {
	return slices.Concat(goodReplies(), badEnvelopes(), badBlocks(), badFailures())
}

// reply is a reply with one key.
func reply(key string, value any) string { return pack([]pair{{key, value}}) }

func goodReplies() []vector {
	const ok = "ok"
	text := []pair{{"type", "text"}, {"text", "hi"}}
	image := []pair{{"type", "image"}, {"data", []byte{1, 2}},
		{"mime", "image/png"}, {"name", "a.png"}}
	audio := []pair{{"type", "audio"}, {"data", []byte{}}, {"mime", "audio/wav"}}
	return []vector{
		{"ok", "A result.", ok, "", reply("ok", []pair{{"n", 1}}), "ok"},
		{"ok_nil", "Nil is a result too.", ok, "", reply("ok", nil), "ok"},
		{"content", "Blocks of each type.", ok, "", reply("content", []any{text, image, audio,
			[]pair{{"type", "file"}, {"text", "a,b"}}, []pair{{"type", "file"}, {"data", []byte{0}}}}),
			"content"},
		{"content_nil_fields", "An optional field that is nil counts as missing.", ok, "",
			reply("content", []any{
				[]pair{{"type", "text"}, {"text", ""}, {"data", nil}, {"mime", nil}, {"name", nil}}}),
			"content"},
		{"content_unknown_keys", "Keys that are not known are ignored in blocks.", ok, "",
			reply("content", []any{
				[]pair{{"type", "text"}, {"text", ""}, {"width", 3}}}), "content"},
		{"failed", "A failure with all its fields.", ok, "",
			reply("failed", []pair{{"code", "no_rows"}, {"message", "no rows"},
				{"permanent", true}, {"details", []any{1}}}), "failed"},
		{"failed_least", "A failure needs a message only.", ok, "",
			reply("failed", []pair{{"message", ""}}), "failed"},
		{"failed_unknown_keys", "Keys that are not known are ignored in failures.", ok, "",
			reply("failed", []pair{{"message", "m"}, {"pointer", 1}, {"x", nil}}), "failed"},
		{"invalid_input", "Arguments that the plugin could not use.", ok, "",
			reply("invalid_input", []pair{{"message", "m"}, {"pointer", "/a/0"}}), "invalid_input"},
		{"unserializable", "A value that the plugin could not code.", ok, "",
			reply("unserializable", []pair{{"message", "m"}}), "unserializable"},
		{"unknown_keys", "Keys that are not known are ignored beside the outcome.", ok, "",
			pack([]pair{{"took_ms", 3}, {"ok", 1}, {"x", []pair{{"ok", 2}}}}), "ok"},
	}
}

func badEnvelopes() []vector {
	const bad = "bad_envelope"
	return []vector{
		{"not_a_map", "A reply is a map.", bad, "0", pack([]any{"ok"}), ""},
		{"bare_value", "A result alone is no reply.", bad, "0", pack("done"), ""},
		{"no_outcome", "An empty map has no outcome.", bad, "0", pack([]pair{}), ""},
		{"unknown_outcome", "A key that is not known is no outcome.", bad, "0",
			reply("okay", 1), ""},
		{"two_outcomes", "Is it a result or a failure?", bad, "5",
			pack([]pair{{"ok", 1}, {"failed", []pair{{"message", "m"}}}}), ""},
		{"two_outcomes_one_nil", "A key counts even if its value is nil.", bad, "5",
			pack([]pair{{"ok", 1}, {"failed", nil}}), ""},
		{"ask", "A question needs a feature that no host of version 1 has.", bad, "1",
			reply("ask", []pair{{"message", "really?"}}), ""},
		{"ok_and_ask", "Beside a result too.", bad, "5", pack([]pair{{"ok", 1}, {"ask", nil}}), ""},
		{"key_not_a_string", "A key is an integer.", bad, "1", "\x81\x01\x02", ""},
		{"duplicate_outcome", "A key that comes twice is no msgpack of ours.", "bad_msgpack", "5",
			pack([]pair{{"ok", 1}, {"ok", 2}}), ""},
		{"trailing", "A byte follows.", "bad_msgpack", "5", reply("ok", 1) + "\x00", ""},
		{"empty", "No bytes.", "bad_msgpack", "0", "", ""},
		{"deep", "A result that nests 65 deep.", "bad_msgpack", "68",
			reply("ok", nil)[:4] + strings.Repeat("\x91", 65) + "\x01", ""},
		{"deep_64", "A result may nest 64 deep, whatever it is wrapped in.", "ok", "",
			reply("ok", nil)[:4] + strings.Repeat("\x91", 64) + "\x01", "ok"},
	}
}

func badBlocks() []vector {
	const bad = "bad_envelope"
	block := func(p ...pair) string { return reply("content", []any{p}) }
	return []vector{
		{"content_empty", "Content needs at least one block.", bad, "9",
			reply("content", []any{}), ""},
		{"content_nil", "Nil is no content.", bad, "9", reply("content", nil), ""},
		{"content_text", "A text is no list of blocks.", bad, "9", reply("content", "hi"), ""},
		{"block_not_a_map", "A block is a map.", bad, "10", reply("content", []any{"hi"}), ""},
		{"block_no_type", "A block without a type.", bad, "10", block(pair{"text", "hi"}), ""},
		{"block_unknown_type", "A type that version 1 does not have.", bad, "10",
			block(pair{"type", "video"}, pair{"data", []byte{1}}), ""},
		{"block_type_not_a_string", "A type that is an integer.", bad, "16",
			block(pair{"type", 1}), ""},
		{"block_text_without_text", "A text block without text.", bad, "10",
			block(pair{"type", "text"}), ""},
		{"block_text_with_data", "A text block with data.", bad, "10",
			block(pair{"type", "text"}, pair{"text", "a"}, pair{"data", []byte{1}}), ""},
		{"block_text_is_bin", "Text that is bin.", bad, "26",
			block(pair{"type", "text"}, pair{"text", []byte("a")}), ""},
		{"block_image_without_data", "An image without data.", bad, "10",
			block(pair{"type", "image"}, pair{"mime", "image/png"}), ""},
		{"block_image_with_text", "An image with text.", bad, "10",
			block(pair{"type", "image"}, pair{"data", []byte{1}}, pair{"text", "a"}), ""},
		{"block_data_is_text", "Data that is a string.", bad, "27",
			block(pair{"type", "image"}, pair{"data", "AQ=="}), ""},
		{"block_file_empty", "A file without text or data.", bad, "10",
			block(pair{"type", "file"}, pair{"name", "a"}), ""},
		{"block_file_both", "A file with both.", bad, "10",
			block(pair{"type", "file"}, pair{"text", "a"}, pair{"data", []byte{1}}), ""},
		{"block_mime_not_a_string", "A MIME type that is an integer.", bad, "26",
			block(pair{"type", "text"}, pair{"mime", 1}, pair{"text", "a"}), ""},
	}
}

func badFailures() []vector {
	const bad = "bad_envelope"
	return []vector{
		{"failed_text", "A failure is a map.", bad, "8", reply("failed", "no rows"), ""},
		{"failed_nil", "Nil is no failure.", bad, "8", reply("failed", nil), ""},
		{"failed_no_message", "A failure without a message.", bad, "8",
			reply("failed", []pair{{"code", "x"}}), ""},
		{"failed_message_nil", "A message that is nil is missing.", bad, "8",
			reply("failed", []pair{{"message", nil}}), ""},
		{"failed_message_not_a_string", "A message that is an integer.", bad, "17",
			reply("failed", []pair{{"message", 5}}), ""},
		{"failed_permanent_not_a_bool", "Permanent that is an integer.", bad, "29",
			reply("failed", []pair{{"message", "m"}, {"permanent", 1}}), ""},
		{"failed_code_not_a_string", "A code that is an integer.", bad, "14",
			reply("failed", []pair{{"code", 404}, {"message", "m"}}), ""},
		{"invalid_input_no_message", "Invalid input without a message.", bad, "15",
			reply("invalid_input", []pair{{"pointer", "/a"}}), ""},
		{"invalid_input_pointer", "A pointer that is an array.", bad, "24",
			reply("invalid_input", []pair{{"pointer", []any{"a"}}, {"message", "m"}}), ""},
		{"unserializable_no_message", "An unserializable without a message.", bad, "16",
			reply("unserializable", []pair{}), ""},
	}
}
