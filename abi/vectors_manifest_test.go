package abi_test

import (
	"slices"
	"strings"
)

// manifest is a good manifest with keys added, or put in the place of one that it has.
func manifest(changes ...pair) string {
	return pack(change([]pair{{"name", "demo"}, {"version", "1.0.0"},
		{"abi", 1}, {"tools", []any{tool()}}}, changes))
}

func tool(changes ...pair) []pair {
	return change([]pair{{"name", "add"}, {"description", "Adds."}, {"input", "{}"}}, changes)
}

func change(fields, changes []pair) []pair {
	for _, c := range changes {
		i := slices.IndexFunc(fields, func(p pair) bool { return p.key == c.key })
		if i < 0 {
			fields = append(fields, c)
		} else {
			fields[i] = c
		}
	}
	return fields
}

func tools(list ...any) pair { return pair{"tools", list} }

func need(kind string, p ...pair) string {
	return manifest(pair{"needs", []pair{{kind, []any{p}}}})
}

func manifestVectors() []vector {
	return slices.Concat(goodManifests(), badManifests(), badNeeds())
}

func goodManifests() []vector {
	const ok = "ok"
	return []vector{
		{"least", "What every manifest has.", ok, "", manifest(), ""},
		{"effects", "Each effect.", ok, "", manifest(tools(
			tool(pair{"effect", "read"}),
			tool(pair{"name", "b"}, pair{"effect", "write"}),
			tool(pair{"name", "c"}, pair{"effect", "idempotent"}))), ""},
		{"unknown_keys", "Keys that are not known are ignored everywhere.", ok, "", manifest(
			pair{"icon", []byte{1}}, tools(tool(pair{"x", 1})),
			pair{"needs", []pair{{"gpu", true}}}), ""},
		{"nil_fields", "An optional field that is nil counts as missing.", ok, "",
			manifest(pair{"needs", nil}, tools(tool(pair{"output", nil}, pair{"effect", nil}))), ""},
		{"needs", "All that a plugin can ask for.", ok, "", manifest(pair{"needs", []pair{
			{"http", []any{[]pair{{"host", "*.example.com"}, {"methods",
				[]any{"GET", "POST"}}, {"reason", "prices"}, {"optional", true}}}},
			{"kv", []pair{{"optional", true}}},
			{"files", []any{[]pair{{"guest", "/data"}, {"mode", "ro"}}}},
			{"env", []any{[]pair{{"name", "LANG"}, {"default", "C"}}}},
			{"config", []any{[]pair{{"name", "region"}, {"default",
				"eu"}, {"description", "where"}}}},
			{"secrets", []any{[]pair{{"name", "token"}}}},
		}}), ""},
		{"name_of_64", "The longest name of a tool.", ok, "",
			manifest(tools(tool(pair{"name", strings.Repeat("a", 64)}))), ""},
		{"hostile_text", "Words for people are cleaned, not refused.", ok, "",
			manifest(pair{"name", "\x1b[31mdemo\u202e"}, pair{"version", "1\xff"}), ""},
	}
}

func badManifests() []vector {
	const bad = "bad_manifest"
	return []vector{
		{"not_a_map", "A manifest is a map.", bad, "", pack([]any{"demo", "1.0.0", 1}), ""},
		{"no_name", "The name is missing.", bad, "name",
			pack([]pair{{"version", "1"}, {"abi", 1}, {"tools", []any{}}}), ""},
		{"no_version", "The version is missing.", bad, "version",
			manifest(pair{"version", nil}), ""},
		{"no_abi", "The version of the contract is missing.", bad, "abi",
			manifest(pair{"abi", nil}), ""},
		{"no_tools", "A plugin without tools offers nothing.", bad, "tools", manifest(tools()), ""},
		{"no_tool_list", "The tools are missing.", bad, "tools", manifest(pair{"tools", nil}), ""},
		{"abi_0", "Version 0 of the contract.", bad, "abi", manifest(pair{"abi", 0}), ""},
		{"abi_2", "Version 2 of the contract.", bad, "abi", manifest(pair{"abi", 2}), ""},
		{"abi_negative", "Version -1 of the contract.", bad, "abi", manifest(pair{"abi", -1}), ""},
		{"abi_huge", "A version that 32 bits do not hold.", bad, "abi",
			manifest(pair{"abi", 1<<32 + 1}), ""},
		{"abi_not_an_integer", "The version of the contract is a string.", bad, "abi",
			manifest(pair{"abi", "1"}), ""},
		{"abi_float", "The version of the contract is a float.", bad, "abi",
			strings.Replace(manifest(), "\xa3abi\x01", "\xa3abi\xca\x3f\x80\x00\x00", 1), ""},
		{"abi_before_all", "Of another version, nothing else is held against it.", bad, "abi",
			manifest(pair{"abi", 2}, pair{"tools", 5}), ""},
		{"tools_not_an_array", "The tools are a map.", bad, "tools",
			manifest(pair{"tools", []pair{}}), ""},
		{"tool_not_a_map", "A tool as an array of its fields.", bad, "tools[0]",
			manifest(tools([]any{"add", "Adds.", "{}"})), ""},
		{"tool_no_name", "A tool without a name.", bad, "tools[1].name",
			manifest(tools(tool(), tool(pair{"name", nil}))), ""},
		{"tool_no_description", "A tool without a description.", bad, "tools[0].description",
			manifest(tools(tool(pair{"description", nil}))), ""},
		{"tool_no_input", "A tool without an input schema.", bad, "tools[0].input",
			manifest(tools(tool(pair{"input", nil}))), ""},
		{"tool_input_not_a_string", "A schema is a string of JSON text.", bad, "tools[0].input",
			manifest(tools(tool(pair{"input", []pair{}}))), ""},
		{"tool_input_not_utf8", "A schema that is not UTF-8.", bad, "tools[0].input",
			manifest(tools(tool(pair{"input", "\xff"}))), ""},
		{"tool_twice", "Two tools with one name.", bad, "tools[1].name",
			manifest(tools(tool(), tool())), ""},
		{"tool_effect", "An effect that is not known.", bad, "tools[0].effect",
			manifest(tools(tool(pair{"effect", "none"}))), ""},
		{"name_empty", "A tool's name is empty.", bad, "tools[0].name",
			manifest(tools(tool(pair{"name", ""}))), ""},
		{"name_upper", "A tool's name has a capital.", bad, "tools[0].name",
			manifest(tools(tool(pair{"name", "Add"}))), ""},
		{"name_digit", "A tool's name begins with a digit.", bad, "tools[0].name",
			manifest(tools(tool(pair{"name", "1add"}))), ""},
		{"name_underscore", "A tool's name begins with an underscore.", bad, "tools[0].name",
			manifest(tools(tool(pair{"name", "_add"}))), ""},
		{"name_dash", "A tool's name has a dash.", bad, "tools[0].name",
			manifest(tools(tool(pair{"name", "add-all"}))), ""},
		{"name_newline", "A tool's name ends in a line break.", bad, "tools[0].name",
			manifest(tools(tool(pair{"name", "add\n"}))), ""},
		{"name_letter", "A tool's name has a letter that only looks like one of ours.", bad,
			"tools[0].name",
			manifest(tools(tool(pair{"name", "аdd"}))), ""},
		{"name_of_65", "A tool's name is one too long.", bad, "tools[0].name",
			manifest(tools(tool(pair{"name", strings.Repeat("a", 65)}))), ""},
		{"key_not_a_string", "A key is an integer.", bad, "", "\x81\x01\x02", ""},
		{"key_bin", "A key is bin, which spells the name of a field.", bad, "",
			strings.Replace(manifest(), "\xa4name", "\xc4\x04name", 1), ""},
		{"key_nil", "A key is nil.", bad, "",
			strings.Replace(manifest(pair{"x", 1}), "\xa1x", "\xc0", 1), ""},
		{"key_bin_inside", "A key of a map in a field that nobody knows is bin.", bad, "",
			strings.Replace(manifest(pair{"x", []pair{{"yy", 1}}}), "\xa2yy", "\xc4\x01y", 1), ""},
		{"extension", "An extension in a field that nobody knows.", bad, "",
			"\x81\xa1x\xd4\x01\x00", ""},
		{"duplicate_key", "A key comes twice.", "bad_msgpack", "10",
			"\x82\xa4name\xa3abc\xa4name\xa1b", ""},
		{"empty", "No bytes.", "bad_msgpack", "0", "", ""},
	}
}

func badNeeds() []vector {
	const bad = "bad_manifest"
	return []vector{
		{"needs_not_a_map", "Needs are a map.", bad, "needs", manifest(pair{"needs", []any{}}), ""},
		{"http_no_host", "A host is missing.", bad, "needs.http[0].host",
			need("http", pair{"reason", "r"}), ""},
		{"http_host_empty", "A host is empty.", bad, "needs.http[0].host",
			need("http", pair{"host", ""}), ""},
		{"http_host_hidden", "A host has a character that nobody sees.", bad, "needs.http[0].host",
			need("http", pair{"host", "exam\u200bple.com"}), ""},
		{"http_methods", "Methods are an array.", bad, "needs.http[0].methods",
			need("http", pair{"host", "h"}, pair{"methods", "GET"}), ""},
		{"http_method_empty", "A method is empty.", bad, "needs.http[0].methods[1]",
			need("http", pair{"host", "h"}, pair{"methods", []any{"GET", ""}}), ""},
		{"http_optional", "Optional is a string.", bad, "needs.http[0].optional",
			need("http", pair{"host", "h"}, pair{"optional", "yes"}), ""},
		{"kv_true", "What asks for key-values is a map.", bad, "needs.kv",
			manifest(pair{"needs", []pair{{"kv", true}}}), ""},
		{"files_mode", "A mode that is not known.", bad, "needs.files[0].mode",
			need("files", pair{"guest", "/a"}, pair{"mode", "rwx"}), ""},
		{"files_no_mode", "A mode is missing.", bad, "needs.files[0].mode",
			need("files", pair{"guest", "/a"}), ""},
		{"files_guest_hidden", "A path with a terminal escape.", bad, "needs.files[0].guest",
			need("files", pair{"guest", "/a\x1b[2K"}, pair{"mode", "ro"}), ""},
		{"env_no_name", "A variable without a name.", bad, "needs.env[0].name",
			need("env", pair{"default", "x"}), ""},
		{"config_not_an_array", "Configuration values are an array.", bad, "needs.config",
			manifest(pair{"needs", []pair{{"config", "region"}}}), ""},
		{"secrets_not_maps", "A secret is a map.", bad, "needs.secrets[0]",
			manifest(pair{"needs", []pair{{"secrets", []any{"token"}}}}), ""},
	}
}
