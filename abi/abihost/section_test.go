package abihost

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
)

// module has the preamble and sections, each an id and a body of fewer than 128 bytes.
func module(sections ...string) []byte {
	b := []byte(preamble)
	for _, s := range sections {
		b = append(b, s[0], byte(len(s)-1))
		b = append(b, s[1:]...)
	}
	return b
}

// custom is a custom section for module.
func custom(name, body string) string {
	return "\x00" + string(byte(len(name))) + name + body
}

func TestSection(t *testing.T) {
	types := "\x01\x01\x60\x00\x00"
	found := module(types, custom("name", "x"), custom(abi.ManifestSection, "manifest"), "\x03\x00")
	if b, ok, err := Section(found); string(b) != "manifest" || !ok || err != nil {
		t.Errorf("Section = %q, %t, %v", b, ok, err)
	}
	if b, ok, err := Section(module(types, custom("other", "x"))); b != nil || ok || err != nil {
		t.Errorf("without one: %q, %t, %v", b, ok, err)
	}
	empty := module(custom(abi.ManifestSection, ""))
	if b, ok, err := Section(empty); len(b) != 0 || !ok || err != nil {
		t.Errorf("an empty one: %q, %t, %v", b, ok, err)
	}
	// Our name inside another section is not ours.
	inside := module(custom("x", string(module(custom(abi.ManifestSection, "m")))))
	if _, ok, err := Section(inside); ok || err != nil {
		t.Errorf("one inside another section: %t, %v", ok, err)
	}
}

func TestSectionRefuses(t *testing.T) {
	twice := custom(abi.ManifestSection, "a")
	tests := []struct {
		name, in string
		offset   int
		detail   string
	}{
		{"empty", "", 0, "this is not WebAssembly"},
		{"text", "(module)", 0, "this is not WebAssembly"},
		{"short preamble", "\x00asm\x01\x00", 4, "the version is not 1"},
		{"version 2", "\x00asm\x02\x00\x00\x00", 4, "the version is not 1"},
		{"component", "\x00asm\x0d\x00\x01\x00", 4, "this is a component"},
		{"no size", preamble + "\x01", 9, "the size of a section is cut off"},
		{"size cut off", preamble + "\x01\x80", 9, "the size of a section is cut off"},
		{"size of 33 bits", preamble + "\x01\xff\xff\xff\xff\x1f", 9, "the size of a section"},
		{"size of six bytes", preamble + "\x01\x80\x80\x80\x80\x80\x00", 9, "the size of a section"},
		{"size past the end", preamble + "\x01\x02\x00", 8, "a section of 2 bytes ends past the module"},
		{"largest size", preamble + "\x00\xff\xff\xff\xff\x0f", 8, "a section of 4294967295 bytes"},
		{"no name", string(module("\x00")), 10, "the name of a custom section ends past it"},
		{"name past the end", string(module("\x00\x03ab")), 10, "the name of a custom section"},
		{"largest name", string(module("\x00\xff\xff\xff\xff\x0f")), 10, "the name of a custom section"},
		{"name's length runs on", string(module("\x00\x80", "\x01\x00")), 10, "the name of a custom"},
		{"two manifests", string(module(twice, twice)), 30, "there are two sections"},
		{"two and broken", string(module(twice)) + "\x01", 31, "the size of a section"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, ok, err := Section([]byte(tt.in))
			var me *ModuleError
			if ok || !errors.As(err, &me) || me.Offset != tt.offset ||
				!strings.HasPrefix(me.Detail, tt.detail) {
				t.Errorf("got %t, %v, want byte %d: %s", ok, err, tt.offset, tt.detail)
			}
			if tt.name == "two manifests" {
				return // stamping mends that
			}
			if _, err := Stamp([]byte(tt.in), nil); !errors.As(err, &me) {
				t.Errorf("Stamp: %v", err)
			}
		})
	}
}

// A size may be spelled with more bytes than it needs, up to five.
func TestSectionLongSize(t *testing.T) {
	s := custom(abi.ManifestSection, "m")
	wasm := append([]byte(preamble), 0, byte(len(s)-1)|0x80, 0x80, 0x80, 0x80, 0)
	wasm = append(wasm, s[1:]...)
	if b, ok, err := Section(wasm); string(b) != "m" || !ok || err != nil {
		t.Errorf("Section = %q, %t, %v", b, ok, err)
	}
}

func TestStamp(t *testing.T) {
	rest := []string{"\x01\x01\x60\x00\x00", custom("name", "x"), "\x03\x00"}
	plain := module(rest...)
	stamped := bytes.Clone(plain)
	for _, size := range []int{3, 0, 127, 70_000} {
		manifest := strings.Repeat("m", size)
		before := bytes.Clone(stamped)
		out, err := Stamp(stamped, []byte(manifest))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(stamped, before) {
			t.Fatal("Stamp changed its input")
		}
		if got, ok, err := Section(out); string(got) != manifest || !ok || err != nil {
			t.Fatalf("a manifest of %d bytes: %d bytes, %t, %v", len(manifest), len(got), ok, err)
		}
		if !bytes.HasPrefix(out, plain) {
			t.Fatal("the rest of the module is not as it was")
		}
		if n := bytes.Count(out, []byte(abi.ManifestSection)); n != 1 {
			t.Fatalf("there are %d manifests", n)
		}
		stamped = out
	}
	old := custom(abi.ManifestSection, "old")
	out, err := Stamp(module(rest[0], old, rest[1], old, rest[2]), []byte("new"))
	want := module(append(rest, custom(abi.ManifestSection, "new"))...)
	if err != nil || !bytes.Equal(out, want) {
		t.Errorf("two old manifests: %q, %v, want %q", out, err, want)
	}
}

func TestStampSize(t *testing.T) {
	if _, err := Stamp(module(), make([]byte, abi.MaxManifestBytes)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	var field *FieldError
	if _, err := Stamp(module(), make([]byte, abi.MaxManifestBytes+1)); !errors.As(err, &field) {
		t.Errorf("one past the limit: %v", err)
	}
}

func FuzzSection(f *testing.F) {
	f.Add(module("\x01\x01\x60\x00\x00", custom(abi.ManifestSection, "manifest")))
	f.Add([]byte(preamble + "\x00\xff\xff\xff\xff\x0f"))
	f.Add(module("\x00\x80", "\x01\x00"))
	f.Fuzz(func(t *testing.T, wasm []byte) {
		manifest, ok, err := Section(wasm)
		if ok && err != nil || !ok && manifest != nil {
			t.Fatalf("Section = %q, %t, %v", manifest, ok, err)
		}
		out, stampErr := Stamp(wasm, []byte("new"))
		if err == nil && stampErr != nil {
			t.Fatalf("Section passes what Stamp refuses: %v", stampErr)
		}
		if stampErr != nil {
			return
		}
		if got, ok, err := Section(out); string(got) != "new" || !ok || err != nil {
			t.Fatalf("after Stamp: %q, %t, %v", got, ok, err)
		}
	})
}
