package session

import (
	"bytes"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/message"
)

// BenchmarkAppend stores a turn of a question, a call, its result of 4 KiB and an answer.
func BenchmarkAppend(b *testing.B) {
	turn := []message.Message{said("x"), calls("a"), answer("a"), {Role: message.Assistant, Text: "y"}}
	turn[2].Result.Text = strings.Repeat("x", 4<<10)
	for name, opts := range map[string]*Options{"sync": nil, "nosync": {NoSync: true}} {
		b.Run(name, func(b *testing.B) {
			d, err := OpenDir(b.TempDir(), opts)
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			s, err := d.Create("s", "", Meta{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			for b.Loop() {
				if err := s.Append(b.Context(), turn...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRead reads a thousand such turns.
func BenchmarkRead(b *testing.B) {
	var file bytes.Buffer
	file.WriteString(header)
	for range 1000 {
		r := answer("a")
		r.Result.Text = strings.Repeat("x", 4<<10)
		for _, m := range []message.Message{said("x"), calls("a"), r} {
			if err := appendLine(&file, m); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.SetBytes(int64(file.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(bytes.NewReader(file.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
