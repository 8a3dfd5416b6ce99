package abihost_test

import (
	"bytes"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
)

func TestBare(t *testing.T) {
	const header = "\x00asm\x01\x00\x00\x00"
	section := func(name, body string) string {
		inner := string(byte(len(name))) + name + body
		return "\x00" + string(byte(len(inner))) + inner
	}
	manifest := section(abi.ManifestSection, "m")
	other, last := section("other", "o"), section("last", "")
	for _, c := range []struct{ name, in, want string }{
		{"nothing", header, header},
		{"another section", header + other, header + other},
		{"alone", header + manifest, header},
		{"between", header + other + manifest + last, header + other + last},
		{"first", header + manifest + other, header + other},
		{"twice", header + manifest + other + manifest, header + other},
	} {
		if got, err := abihost.Bare([]byte(c.in)); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	whole := []byte(header + other + last)
	stamped, err := abihost.Stamp(whole, []byte{0x80})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := abihost.Bare(stamped); err != nil || !bytes.Equal(got, whole) {
		t.Errorf("what Stamp adds is not what Bare takes away: %q, %v", got, err)
	}
	for n := range whole {
		cut := whole[:n]
		if _, err := abihost.Bare(cut); err == nil && n != len(header) && n != len(header+other) {
			t.Errorf("cut at %d: no error", n)
		}
	}
}
