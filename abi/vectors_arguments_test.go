package abi_test

import (
	"slices"
	"strconv"
	"strings"
)

// argumentVectors are arguments of a call, JSON text on the way to a guest.
func argumentVectors() []vector {
	return slices.Concat(notJSON(), notCarriable(), goodArguments())
}

func notJSON() []vector {
	const bad = "carriage"
	return []vector{
		{"empty", "No text is no JSON.", bad, "0", "", ""},
		{"only_space", "Nor is white space.", bad, "2", " \n", ""},
		{"trailing_text", "Text follows the value.", bad, "3", "{} x", ""},
		{"two_documents", "A second value follows.", bad, "2", "1 2", ""},
		{"trailing_comma", "A comma without a value.", bad, "3 /1", "[1,]", ""},
		{"trailing_comma_object", "A comma without a key.", bad, "7", `{"a":1,}`, ""},
		{"leading_comma", "A value is missing before the comma.", bad, "1 /0", "[,1]", ""},
		{"no_comma", "Two values without a comma.", bad, "3 /0", "[1 2]", ""},
		{"no_colon", "A key without a colon.", bad, "5 /a", `{"a" 1}`, ""},
		{"no_value", "A key without a value.", bad, "5 /a", `{"a":}`, ""},
		{"bare_key", "A key without quotes.", bad, "1", `{a:1}`, ""},
		{"single_quotes", "Single quotes.", bad, "0", `'a'`, ""},
		{"cut_array", "An array does not end.", bad, "2 /0", "[1", ""},
		{"cut_object", "An object does not end.", bad, "6 /a", `{"a":1`, ""},
		{"cut_string", "A string does not end.", bad, "2", `"a`, ""},
		{"cut_escape", "An escape does not end.", bad, "2", `"\`, ""},
		{"wrong_end", "An array ends as an object.", bad, "2 /0", "[1}", ""},
		{"control_in_string", "A line break in a string.", bad, "2", "\"a\nb\"", ""},
		{"control_after_escape", "A tab after an escape.", bad, "3", "\"\\n\t\"", ""},
		{"nul_in_string", "NUL in a string.", bad, "1", "\"\x00\"", ""},
		{"nul", "NUL where a value should be.", bad, "0", "\x00", ""},
		{"unknown_escape", "No such escape.", bad, "2", `"\x41"`, ""},
		{"short_escape", "Three digits, not four.", bad, "1", `"\u12g4"`, ""},
		{"word", "No such word.", bad, "0", "True", ""},
		{"word_cut", "A word is cut off.", bad, "0", "tru", ""},
		{"word_long", "A word goes on.", bad, "4", "nulll", ""},
		{"nan", "JSON has no NaN.", bad, "0", "NaN", ""},
		{"minus", "A sign without digits.", bad, "1", "-", ""},
		{"plus", "A plus sign.", bad, "0", "+1", ""},
		{"leading_zero", "A zero before other digits.", bad, "0", "01", ""},
		{"leading_zero_negative", "After the sign too.", bad, "0", "-01", ""},
		{"leading_point", "A point without digits before it.", bad, "0", ".5", ""},
		{"trailing_point", "A point without digits after it.", bad, "2", "1.", ""},
		{"exponent_empty", "An exponent without digits.", bad, "3", "1e+", ""},
		{"hexadecimal", "JSON has no hexadecimal numbers.", bad, "1", "0x1", ""},
		{"comment", "JSON has no comments.", bad, "1 /0", "[/* */]", ""},
		{"byte_order_mark", "U+FEFF before the value.", bad, "0", "\ufeff{}", ""},
	}
}

func notCarriable() []vector {
	const bad = "carriage"
	return []vector{
		{"duplicate", "A key comes twice: which one counts?", bad, "7", `{"a":1,"a":2}`, ""},
		{"duplicate_escaped", "The same key in another spelling.", bad, "7",
			`{"a":1,"\u0061":2}`, ""},
		{"duplicate_inside", "In an inner object.", bad, "14 /x/0", `{"x":[{"a":1, "a":2}]}`, ""},
		{"duplicate_around_object", "An object between the two has the key too.", bad, "13",
			`{"a":{"a":1},"a":2}`, ""},
		{"duplicate_of_many", "The last of 101 keys is the first again.", bad, "791",
			manyKeys(100) + `,"k0":0}`, ""},
		{"surrogate_high", "Half of a surrogate pair is no character.", bad, "1", `"\ud800"`, ""},
		{"surrogate_low", "The other half.", bad, "1", `"\udc00"`, ""},
		{"surrogate_then_text", "The second half is missing.", bad, "11 /a/0",
			`{"a": ["xyz\ud83dabc"]}`, ""},
		{"surrogate_then_escape", "Another escape is not the second half.", bad, "1",
			`"\ud83d\u0041"`, ""},
		{"surrogates_reversed", "The halves in the wrong order.", bad, "1", `"\ude00\ud83d"`, ""},
		{"surrogate_in_key", "Keys are strings too.", bad, "2", `{"\ud800":1}`, ""},
		{"not_utf8", "A string is not UTF-8.", bad, "0", "\"a\xff\"", ""},
		{"not_utf8_after_escape", "A string with an escape is not UTF-8.", bad, "0",
			"\"\\n\xff\"", ""},
		{"utf8_surrogate", "A surrogate in three bytes is not UTF-8.", bad, "0",
			"\"\xed\xa0\x80\"", ""},
		{"not_utf8_outside", "Nor may it stand outside a string.", bad, "0", "\xff", ""},
		{"int_above_uint64", "2^64 needs 65 bits.", bad, "5 /a", `{"a":18446744073709551616}`, ""},
		{"int_below_int64", "One below the least 64-bit integer.", bad, "0",
			"-9223372036854775809", ""},
		{"int_of_30_digits", "Far beyond.", bad, "0", "100000000000000000000000000000", ""},
		{"int_negative_uint64", "The largest uint64 with a sign.", bad, "0",
			"-18446744073709551615", ""},
		{"exponent_overflow", "A number above the largest float64.", bad, "0", "1e400", ""},
		{"exponent_overflow_negative", "And below the least.", bad, "1 /0", "[-1e400]", ""},
		{"deep_arrays", "Arrays nest 65 deep, one more than may.", bad, "64 " + strings.Repeat("/0",
			64), strings.Repeat("[", 65) + strings.Repeat("]", 65), ""},
		{"deep_objects", "Objects nest 65 deep.", bad, "320 " + strings.Repeat("/a",
			64), strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), ""},
	}
}

func manyKeys(n int) string {
	s := "{"
	for i := range n {
		if i > 0 {
			s += ","
		}
		s += `"k` + strconv.Itoa(i) + `":0`
	}
	return s
}

func goodArguments() []vector {
	const ok = "ok"
	return []vector{
		{"object", "What most calls carry.", ok, "",
			`{"q":"a b","n":[1,-1,2.5],"f":false,"t":true,"z":null}`,
			"\x85\xa1q\xa3a b\xa1n\x93\x01\xff\xcb\x40\x04\x00\x00\x00\x00\x00\x00" +
				"\xa1f\xc2\xa1t\xc3\xa1z\xc0"},
		{"white_space", "White space wherever it may stand.", ok, "",
			" \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : { } } \n", "\x82\xa1a\x92\x01\x02\xa1b\x80"},
		{"empty_object", "No keys.", ok, "", "{}", "\x80"},
		{"empty_array", "No elements.", ok, "", "[]", "\x90"},
		{"array_of_15", "The longest array with a short header.", ok, "",
			"[0" + strings.Repeat(",0", 14) + "]", "\x9f" + strings.Repeat("\x00", 15)},
		{"array_of_16", "The shortest with a longer one.", ok, "",
			"[0" + strings.Repeat(",0", 15) + "]", "\xdc\x00\x10" + strings.Repeat("\x00", 16)},
		{"array_of_16_inside", "Inner arrays are counted by themselves.", ok, "",
			"[[0" + strings.Repeat(",0", 15) + `],{"a":[]}]`,
			"\x92\xdc\x00\x10" + strings.Repeat("\x00", 16) + "\x81\xa1a\x90"},
		{"deep_64", "Arrays nest 64 deep, as deep as may be.", ok, "",
			strings.Repeat("[", 64) + strings.Repeat("]", 64), strings.Repeat("\x91", 63) + "\x90"},
		{"zero", "An integer.", ok, "", "0", "\x00"},
		{"negative_zero", "-0 travels as a float, for only a float keeps the sign.", ok, "",
			"-0", "\xcb\x80\x00\x00\x00\x00\x00\x00\x00"},
		{"negative_zero_float", "So does -0.0.", ok, "",
			"-0.0", "\xcb\x80\x00\x00\x00\x00\x00\x00\x00"},
		{"whole_float", "1.0 travels as a float.", ok, "",
			"1.0", "\xcb\x3f\xf0\x00\x00\x00\x00\x00\x00"},
		{"exponent", "So does 1e2.", ok, "", "1E+2", "\xcb\x40\x59\x00\x00\x00\x00\x00\x00"},
		{"exponent_underflow", "What is too small rounds to 0.", ok, "",
			"1e-400", "\xcb\x00\x00\x00\x00\x00\x00\x00\x00"},
		{"int_2_53_1", "2^53+1, which no float64 holds.", ok, "",
			"9007199254740993", "\xcf\x00\x20\x00\x00\x00\x00\x00\x01"},
		{"uint64_max", "The largest integer.", ok, "",
			"18446744073709551615", "\xcf\xff\xff\xff\xff\xff\xff\xff\xff"},
		{"int64_min", "The least integer.", ok, "",
			"-9223372036854775808", "\xd3\x80\x00\x00\x00\x00\x00\x00\x00"},
		{"int_forms", "Each form at both ends.", ok, "",
			"[127,128,255,256,65535,65536,4294967295,4294967296]",
			"\x98\x7f\xcc\x80\xcc\xff\xcd\x01\x00\xcd\xff\xff\xce\x00\x01\x00\x00\xce\xff\xff\xff\xff" +
				"\xcf\x00\x00\x00\x01\x00\x00\x00\x00"},
		{"negative_forms", "Each form at both ends.", ok, "",
			"[-32,-33,-128,-129,-32768,-32769,-2147483648,-2147483649]",
			"\x98\xe0\xd0\xdf\xd0\x80\xd1\xff\x7f\xd1\x80\x00\xd2\xff\xff\x7f\xff\xd2\x80\x00\x00\x00" +
				"\xd3\xff\xff\xff\xff\x7f\xff\xff\xff"},
		{"long_float", "More digits than a float64 has are rounded.", ok, "",
			"0.1000000000000000055511151231257827", "\xcb\x3f\xb9\x99\x99\x99\x99\x99\x9a"},
		{"string_escapes", "Every escape.", ok, "",
			`"\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\uDE00"`, "\xaf\"\\/\b\f\n\r\t\x00é😀"},
		{"string_as_it_is", "Characters that need no escape.", ok, "",
			"\"é\u2028😀\x7f</script>\"", "\xb3é\u2028😀\x7f</script>"},
		{"string_of_31", "The longest string with a short header.", ok, "",
			`"` + strings.Repeat("a", 31) + `"`, "\xbf" + strings.Repeat("a", 31)},
		{"string_of_32", "The shortest with a longer one.", ok, "",
			`"` + strings.Repeat("a", 32) + `"`, "\xd9\x20" + strings.Repeat("a", 32)},
		{"string_of_32_escaped", "The same behind an escape.", ok, "",
			`"\n` + strings.Repeat("a", 31) + `"`, "\xd9\x20\n" + strings.Repeat("a", 31)},
		{"replacement_character", "U+FFFD itself is a character like others.", ok, "",
			`"\ufffd"`, "\xa3\ufffd"},
		{"same_key_in_two_objects", "Each object has its own keys.", ok, "",
			`[{"a":1},{"a":{"a":2}}]`, "\x92\x81\xa1a\x01\x81\xa1a\x81\xa1a\x02"},
	}
}
