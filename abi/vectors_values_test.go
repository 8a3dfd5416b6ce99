package abi_test

import (
	"fmt"
	"slices"
	"strings"
)

// valueVectors are results of a guest, hostile bytes on the way to JSON.
func valueVectors() []vector {
	return slices.Concat(badMsgpack(), duplicateKeys(), noJSON(), goodValues(), goodNumbers(),
		goodTimes())
}

func badMsgpack() []vector {
	const bad = "bad_msgpack"
	return []vector{
		{"empty", "No bytes are no value.", bad, "0", "", ""},
		{"c1", "The one byte that begins no value.", bad, "0", "\xc1", ""},
		{"c1_inside", "The same inside an array.", bad, "2", "\x92\x01\xc1", ""},
		{"trailing_byte", "A byte follows the value.", bad, "1", "\xc0\x00", ""},
		{"two_documents", "A second value follows the first.", bad, "4", "\x81\xa1a\x01\x80", ""},
		{"cut_array", "An array lacks its second element.", bad, "0", "\x92\x01", ""},
		{"cut_array_inside", "The inner array takes what the outer one needed.", bad, "3",
			"\x92\x91\x01", ""},
		{"cut_map", "A map lacks its value.", bad, "3", "\x81\xa1a", ""},
		{"cut_map_value", "A map of two pairs ends after the second key.", bad, "7",
			"\x82\xa1a\x01\xa2bb", ""},
		{"cut_fixstr", "A short string lacks its last byte.", bad, "0", "\xa3ab", ""},
		{"cut_str8", "A string of 8-bit length lacks its last byte.", bad, "0", "\xd9\x03ab", ""},
		{"cut_str8_length", "A string lacks its length.", bad, "0", "\xd9", ""},
		{"cut_str16_length", "A string has half of its length.", bad, "0", "\xda\x00", ""},
		{"cut_bin", "Bin lacks its last byte.", bad, "0", "\xc4\x02a", ""},
		{"cut_uint8", "An integer lacks its byte.", bad, "0", "\xcc", ""},
		{"cut_uint16", "An integer lacks its last byte.", bad, "0", "\xcd\x01", ""},
		{"cut_uint32", "An integer lacks its last byte.", bad, "0", "\xce\x01\x02\x03", ""},
		{"cut_uint64", "An integer lacks its last byte.", bad, "0",
			"\xcf\x01\x02\x03\x04\x05\x06\x07", ""},
		{"cut_int64", "An integer lacks its last byte.", bad, "0",
			"\xd3\x01\x02\x03\x04\x05\x06\x07", ""},
		{"cut_float32", "A float lacks its last byte.", bad, "0", "\xca\x01\x02\x03", ""},
		{"cut_float64", "A float lacks its last byte.", bad, "0",
			"\xcb\x01\x02\x03\x04\x05\x06\x07", ""},
		{"cut_fixext", "An extension lacks its type.", bad, "0", "\xd6", ""},
		{"cut_ext", "An extension lacks its last byte.", bad, "0", "\xc7\x02\x01a", ""},
		{"length_array32", "Five bytes declare 4,294,967,295 elements; trusting them ends the process.",
			bad, "0",
			"\xdd\xff\xff\xff\xff", ""},
		{"length_map32", "Five bytes declare 4,294,967,295 pairs.", bad, "0",
			"\xdf\xff\xff\xff\xff", ""},
		{"length_str32", "Five bytes declare a string of 4 GiB.", bad, "0",
			"\xdb\xff\xff\xff\xff", ""},
		{"length_bin32", "Five bytes declare bin of 4 GiB.", bad, "0", "\xc6\xff\xff\xff\xff", ""},
		{"length_ext32", "Six bytes declare an extension of 4 GiB.", bad, "0",
			"\xc9\xff\xff\xff\xff\x01", ""},
		{"length_array_by_one", "One more element is declared than bytes follow.", bad, "0",
			"\xdc\x00\x03\x01\x02", ""},
		{"length_map_by_one", "A map of two pairs has three bytes left.", bad, "0",
			"\x82\xa0\x01\xa0", ""},
		{"deep_arrays", "Arrays nest 65 deep, one more than may.", bad, "64",
			strings.Repeat("\x91", 65) + "\xc0", ""},
		{"deep_empty_array", "An empty array counts as one level.", bad, "64",
			strings.Repeat("\x91", 64) + "\x90", ""},
		{"deep_maps", "Maps nest 65 deep.", bad, "128",
			strings.Repeat("\x81\xa0", 65) + "\xc0", ""},
		{"time_0_bytes", "A timestamp without bytes.", bad, "0", "\xc7\x00\xff", ""},
		{"time_1_byte", "A timestamp of 1 byte.", bad, "0", "\xd4\xff\x01", ""},
		{"time_5_bytes", "A timestamp of 5 bytes.", bad, "0",
			"\xc7\x05\xff\x01\x02\x03\x04\x05", ""},
		{"time_16_bytes", "A timestamp of 16 bytes.", bad, "0",
			"\xd8\xff" + strings.Repeat("\x00", 16), ""},
		{"time64_nanoseconds", "A timestamp of 8 bytes has 1,000,000,000 nanoseconds.", bad, "0",
			"\xd7\xff\xee\x6b\x28\x00\x00\x00\x00\x00", ""},
		{"time96_nanoseconds", "A timestamp of 12 bytes has 1,000,000,000 nanoseconds.", bad, "0",
			"\xc7\x0c\xff\x3b\x9a\xca\x00\x00\x00\x00\x00\x00\x00\x00\x00", ""},
		{"no_json_then_cut", "Broken bytes have no value, so the earlier NaN does not count.", bad, "6",
			"\x93\xca\x7f\xc0\x00\x00\xcd\x01", ""},
	}
}

func duplicateKeys() []vector {
	const bad = "bad_msgpack"
	many := "\xde\x00\x65"
	for i := range 100 {
		many += fmt.Sprintf("\xa3k%02d\x00", i)
	}
	return []vector{
		{"duplicate", "A key comes twice.", bad, "4", "\x82\xa1a\x01\xa1a\x02", ""},
		{"duplicate_empty", "The empty key comes twice.", bad, "3", "\x82\xa0\x01\xa0\x02", ""},
		{"duplicate_other_form", "The same key with a longer header is the same key.", bad, "4",
			"\x82\xa1a\x01\xd9\x01a\x02", ""},
		{"duplicate_last_of_three", "Keys between the two do not hide them.", bad, "7",
			"\x83\xa1a\x01\xa1b\x02\xa1a\x03", ""},
		{"duplicate_around_map", "A map between the two has the key too, and hides nothing.", bad, "7",
			"\x82\xa1a\x81\xa1a\x01\xa1a\x02", ""},
		{"duplicate_inside", "In an inner map.", bad, "8",
			"\x91\x81\xa1m\x82\xa1a\x01\xa1a\x01", ""},
		{"duplicate_of_many", "The last of 101 keys is the first again.", bad, "503",
			many + "\xa3k00\x00", ""},
		{"same_key_in_two_maps", "Each map has its own keys.", "ok", "",
			"\x92\x81\xa1a\x01\x81\xa1a\x02", `[{"a":1},{"a":2}]`},
		{"same_key_outside_and_inside", "Each map has its own keys.", "ok", "",
			"\x82\xa1a\x81\xa1a\x01\xa1b\x02", `{"a":{"a":1},"b":2}`},
	}
}

func noJSON() []vector {
	const no = "no_json"
	return []vector{
		{"nan32", "NaN, 32 bits.", no, "$", "\xca\x7f\xc0\x00\x00", ""},
		{"nan64", "NaN, 64 bits.", no, "$", "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", ""},
		{"inf32", "Infinity, 32 bits.", no, "$", "\xca\x7f\x80\x00\x00", ""},
		{"inf64", "Infinity, 64 bits.", no, "$", "\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", ""},
		{"negative_inf32", "Negative infinity, 32 bits.", no, "$", "\xca\xff\x80\x00\x00", ""},
		{"negative_inf64", "Negative infinity, 64 bits.", no, "$",
			"\xcb\xff\xf0\x00\x00\x00\x00\x00\x00", ""},
		{"nan_path", "The path names the value.", no, "$.rows[1].price",
			"\x81\xa4rows\x92\x01\x81\xa5price\xca\x7f\xc0\x00\x00", ""},
		{"nan_path_quoted", "A key that is not a plain word is quoted.", no, `$["a b\u202e"][0]`,
			"\x81\xa6a b\u202e\x91\xca\x7f\xc0\x00\x00", ""},
		{"key_int", "A key is an integer.", no, "$", "\x81\x01\x02", ""},
		{"key_negative", "A key is a negative integer.", no, "$", "\x81\xff\x02", ""},
		{"key_float", "A key is a float.", no, "$", "\x81\xca\x00\x00\x00\x00\x02", ""},
		{"key_bool", "A key is a bool.", no, "$", "\x81\xc3\x02", ""},
		{"key_nil", "A key is nil.", no, "$", "\x81\xc0\x02", ""},
		{"key_bin", "A key is bin.", no, "$", "\x81\xc4\x01a\x02", ""},
		{"key_array", "A key is an array.", no, "$", "\x81\x91\x01\x02", ""},
		{"key_map", "A key is a map.", no, "$", "\x81\x81\xa1a\x01\x02", ""},
		{"key_time", "A key is a timestamp.", no, "$", "\x81\xd6\xff\x00\x00\x00\x00\x02", ""},
		{"key_int_twice", "Keys that are not strings are not compared.", no, "$",
			"\x82\x01\x02\x01\x02", ""},
		{"key_int_path", "The path names the map that has the key.", no, "$.a[0]",
			"\x81\xa1a\x91\x82\xa1b\x01\x02\x03", ""},
		{"key_not_utf8", "A key is not UTF-8.", no, "$", "\x81\xa1\xff\x01", ""},
		{"string_not_utf8", "A string is not UTF-8.", no, "$[1]", "\x92\xa1a\xa1\xff", ""},
		{"string_cut_rune", "A string ends within a character.", no, "$", "\xa2\xe2\x82", ""},
		{"string_overlong", "A string has NUL in two bytes.", no, "$", "\xa2\xc0\x80", ""},
		{"string_surrogate", "A string has a surrogate in three bytes.", no, "$",
			"\xa3\xed\xa0\x80", ""},
		{"string_beyond_unicode", "A string has a character above U+10FFFF.", no, "$",
			"\xa4\xf4\x90\x80\x80", ""},
		{"ext", "An extension that is not a timestamp.", no, "$", "\xc7\x01\x01a", ""},
		{"ext_empty", "An extension without bytes.", no, "$", "\xc7\x00\x01", ""},
		{"fixext1", "A short extension.", no, "$", "\xd4\x01a", ""},
		{"fixext4", "An extension as long as a timestamp.", no, "$", "\xd6\x01abcd", ""},
		{"fixext16", "The longest of the fixed lengths.", no, "$", "\xd8\xfeabcdefghijklmnop", ""},
		{"time_year_10000", "The first second of the year 10000.", no, "$",
			"\xc7\x0c\xff\x00\x00\x00\x00\x00\x00\x00\x3a\xff\xf4\x41\x80", ""},
		{"time_year_minus_1", "The last second before the year 0.", no, "$",
			"\xc7\x0c\xff\x00\x00\x00\x00\xff\xff\xff\xf1\x86\x8b\x83\xff", ""},
		{"time_farthest", "The last second there is.", no, "$",
			"\xc7\x0c\xff\x00\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", ""},
	}
}

func goodValues() []vector {
	const ok = "ok"
	return []vector{
		{"nil", "The least of values.", ok, "", "\xc0", "null"},
		{"bools", "Both.", ok, "", "\x92\xc2\xc3", "[false,true]"},
		{"empty_array", "No elements.", ok, "", "\x90", "[]"},
		{"empty_map", "No pairs.", ok, "", "\x80", "{}"},
		{"nested", "Arrays and maps in one another.", ok, "",
			"\x83\xa1a\x92\x90\x80\xa1b\x81\xa1c\xc0\xa1d\x91\x91\x01",
			`{"a":[[],{}],"b":{"c":null},"d":[[1]]}`},
		{"array16_of_1", "A longer header than needed.", ok, "", "\xdc\x00\x01\x07", "[7]"},
		{"array32_of_1", "The longest header.", ok, "", "\xdd\x00\x00\x00\x01\x07", "[7]"},
		{"map16_of_1", "A longer header than needed.", ok, "", "\xde\x00\x01\xa1a\x07", `{"a":7}`},
		{"map32_of_1", "The longest header.", ok, "", "\xdf\x00\x00\x00\x01\xa1a\x07", `{"a":7}`},
		{"str8_of_1", "A longer header than needed.", ok, "", "\xd9\x01a", `"a"`},
		{"str16_of_1", "A longer header than needed.", ok, "", "\xda\x00\x01a", `"a"`},
		{"str32_of_1", "The longest header.", ok, "", "\xdb\x00\x00\x00\x01a", `"a"`},
		{"deep_64", "Arrays nest 64 deep, as deep as may be.", ok, "",
			strings.Repeat("\x91", 63) + "\x90", strings.Repeat("[", 64) + strings.Repeat("]", 64)},
		{"string_nul", "NUL in a string.", ok, "", "\xa3a\x00b", `"a\u0000b"`},
		{"string_escapes", "What JSON must escape.", ok, "",
			"\xa8\"\\\n\r\t\b\f\x1f", `"\"\\\n\r\t\u0008\u000c\u001f"`},
		{"string_delete", "What JSON need not escape.", ok, "", "\xa2\x7f/", "\"\x7f/\""},
		{"string_line_separator", "U+2028 stands as it is.", ok, "", "\xa3\u2028", "\"\u2028\""},
		{"string_script_end", "So does what ends a script.", ok, "",
			"\xa9</script>", `"</script>"`},
		{"string_last_character", "U+10FFFF.", ok, "", "\xa4\U0010ffff", "\"\U0010ffff\""},
		{"string_byte_order_mark", "U+FEFF inside a string is a character.", ok, "",
			"\xa3\ufeff", "\"\ufeff\""},
		{"key_escaped", "Keys are escaped as strings are.", ok, "",
			"\x81\xa3\"\x00a\x01", "{\"\\\"\\u0000a\":1}"},
		{"bin", "Bin becomes base64 with padding.", ok, "",
			"\xc4\x04\xfb\xff\x00\x01", `"+/8AAQ=="`},
		{"bin_empty", "No bytes.", ok, "", "\xc4\x00", `""`},
		{"bin16", "A longer header than needed.", ok, "", "\xc5\x00\x01\x00", `"AA=="`},
		{"bin32", "The longest header.", ok, "", "\xc6\x00\x00\x00\x01\x00", `"AA=="`},
	}
}

func goodNumbers() []vector {
	const ok = "ok"
	f64 := func(bits string) string { return "\xcb" + bits }
	return []vector{
		{"fixint_max", "127 in one byte.", ok, "", "\x7f", "127"},
		{"fixint_min", "-32 in one byte.", ok, "", "\xe0", "-32"},
		{"uint8", "255.", ok, "", "\xcc\xff", "255"},
		{"uint16", "65,535.", ok, "", "\xcd\xff\xff", "65535"},
		{"uint32", "4,294,967,295.", ok, "", "\xce\xff\xff\xff\xff", "4294967295"},
		{"uint64_max", "The largest integer keeps every digit.", ok, "",
			"\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
		{"int8_min", "-128.", ok, "", "\xd0\x80", "-128"},
		{"int16_min", "-32,768.", ok, "", "\xd1\x80\x00", "-32768"},
		{"int32_min", "-2,147,483,648.", ok, "", "\xd2\x80\x00\x00\x00", "-2147483648"},
		{"int64_min", "The least integer keeps every digit.", ok, "",
			"\xd3\x80\x00\x00\x00\x00\x00\x00\x00", "-9223372036854775808"},
		{"int64_max", "The largest signed integer.", ok, "",
			"\xd3\x7f\xff\xff\xff\xff\xff\xff\xff", "9223372036854775807"},
		{"int_2_53_1", "2^53+1, which no float64 holds.", ok, "",
			"\xcf\x00\x20\x00\x00\x00\x00\x00\x01", "9007199254740993"},
		{"int_long_forms", "1 in every form.", ok, "",
			"\x98\xcc\x01\xcd\x00\x01\xce\x00\x00\x00\x01\xcf\x00\x00\x00\x00\x00\x00\x00\x01" +
				"\xd0\x01\xd1\x00\x01\xd2\x00\x00\x00\x01\xd3\x00\x00\x00\x00\x00\x00\x00\x01",
			"[1,1,1,1,1,1,1,1]"},
		{"negative_long_forms", "-1 in every form.", ok, "",
			"\x94\xd0\xff\xd1\xff\xff\xd2\xff\xff\xff\xff\xd3\xff\xff\xff\xff\xff\xff\xff\xff",
			"[-1,-1,-1,-1]"},
		{"float_negative_zero", "The sign of zero stays.", ok, "",
			f64("\x80\x00\x00\x00\x00\x00\x00\x00"), "-0"},
		{"float32_negative_zero", "With 32 bits too.", ok, "", "\xca\x80\x00\x00\x00", "-0"},
		{"float_whole", "1.0 prints as encoding/json prints it.", ok, "",
			f64("\x3f\xf0\x00\x00\x00\x00\x00\x00"), "1"},
		{"float_tenth", "0.1.", ok, "", f64("\x3f\xb9\x99\x99\x99\x99\x99\x9a"), "0.1"},
		{"float32_tenth", "The shortest digits that give the float32 back.", ok, "",
			"\xca\x3d\xcc\xcc\xcd", "0.1"},
		{"float32_large", "A float32 above 2^24 has fewer digits than its integer value.", ok, "",
			"\xca\x50\x00\x00\x01", "8589936000"},
		{"float_exponent", "1e21 is the first with an exponent.", ok, "",
			f64("\x44\x4b\x1a\xe4\xd6\xe2\xef\x50"), "1e+21"},
		{"float_no_exponent", "1e20 is the last power without.", ok, "",
			f64("\x44\x15\xaf\x1d\x78\xb5\x8c\x40"), "100000000000000000000"},
		{"float_small_exponent", "A negative exponent of one digit.", ok, "",
			f64("\x3e\x7a\xd7\xf2\x9a\xbc\xaf\x48"), "1e-7"},
		{"float_small", "1e-6 is the least without exponent.", ok, "",
			f64("\x3e\xb0\xc6\xf7\xa0\xb5\xed\x8d"), "0.000001"},
		{"float_max", "The largest float64.", ok, "",
			f64("\x7f\xef\xff\xff\xff\xff\xff\xff"), "1.7976931348623157e+308"},
		{"float_least", "The least float64 above 0.", ok, "",
			f64("\x00\x00\x00\x00\x00\x00\x00\x01"), "5e-324"},
		{"float32_max", "The largest float32.", ok, "", "\xca\x7f\x7f\xff\xff", "3.4028235e+38"},
	}
}

func goodTimes() []vector {
	const ok = "ok"
	return []vector{
		{"time32", "The epoch.", ok, "", "\xd6\xff\x00\x00\x00\x00", `"1970-01-01T00:00:00Z"`},
		{"time32_max", "The last second of 32 bits.", ok, "",
			"\xd6\xff\xff\xff\xff\xff", `"2106-02-07T06:28:15Z"`},
		{"time64", "Nanoseconds in 8 bytes.", ok, "",
			"\xd7\xff\xee\x6b\x27\xfc\x00\x00\x00\x00", `"1970-01-01T00:00:00.999999999Z"`},
		{"time96", "A negative second in 12 bytes.", ok, "",
			"\xc7\x0c\xff\x1d\xcd\x65\x00\xff\xff\xff\xff\xff\xff\xff\xff", `"1969-12-31T23:59:59.5Z"`},
		{"time32_long_header", "A longer header than needed.", ok, "",
			"\xc8\x00\x04\xff\x00\x00\x00\x01", `"1970-01-01T00:00:01Z"`},
		{"time_first", "The first second that RFC 3339 can write.", ok, "",
			"\xc7\x0c\xff\x00\x00\x00\x00\xff\xff\xff\xf1\x86\x8b\x84\x00", `"0000-01-01T00:00:00Z"`},
		{"time_last", "The last second that RFC 3339 can write.", ok, "",
			"\xc7\x0c\xff\x00\x00\x00\x00\x00\x00\x00\x3a\xff\xf4\x41\x7f", `"9999-12-31T23:59:59Z"`},
	}
}
