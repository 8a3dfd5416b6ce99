package schema

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestFit reads testdata: of each three files the first is a schema, the second arguments, and the
// third what becomes of those: the problems or the arguments as the tool gets them, and the notes.
// Each schema goes by both roads.
func TestFit(t *testing.T) {
	const file = "testdata/fit.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+2 < len(archive.Files); i += 3 {
		schema, arguments, want := archive.Files[i], archive.Files[i+1], &archive.Files[i+2]
		t.Run(schema.Name, func(t *testing.T) {
			text := strings.TrimSpace(string(schema.Data))
			s := mustCompile(t, text)
			got := fitted(t, s, strings.TrimSpace(string(arguments.Data)))
			if *update {
				want.Data = []byte(got)
			} else if got != string(want.Data) {
				t.Errorf("have %s\nwant %s", got, want.Data)
			}
			if !s.common || strings.HasPrefix(got, "problem") {
				return
			}
			rare := mustCompile(t, `{"uniqueItems":true,`+text[1:])
			if again := fitted(t, rare, strings.TrimSpace(string(arguments.Data))); again != got {
				t.Errorf("have %s\nby the rare road %s", got, again)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func fitted(t *testing.T, s *Schema, text string) string {
	t.Helper()
	packed, err := pack(text)
	if err != nil {
		t.Fatal(err)
	}
	fit, err := s.Fit([]byte(text), packed)
	switch {
	case err != nil:
		return "problem: " + err.Error() + "\n"
	case fit == nil:
		return "passes\n"
	}
	lines := []string{"passes"}
	if fit.Text != nil {
		lines[0] = string(fit.Text)
		if again, err := pack(lines[0]); err != nil || string(again) != string(fit.Packed) {
			t.Errorf("the text is %x, packed is %x: %v", again, fit.Packed, err)
		}
	}
	return strings.Join(append(lines, fit.Notes...), "\n") + "\n"
}
