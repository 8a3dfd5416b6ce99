package schema

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is found into testdata")

// TestNormal reads testdata: of each pair of files the first is a schema as it is given, and the
// second the text that is offered and checked, "as given" when it is the very same, or an error.
// What comes out is as good as new: it compiles to itself.
func TestNormal(t *testing.T) {
	for file, compile := range map[string]func(string) (*Schema, error){
		"testdata/arguments.txtar": CompileArguments,
		"testdata/normal.txtar":    Compile,
	} {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			in, want := archive.Files[i], &archive.Files[i+1]
			t.Run(in.Name, func(t *testing.T) {
				text := strings.TrimSuffix(string(in.Data), "\n")
				got := outcome(t, compile, text)
				if *update {
					want.Data = []byte(got + "\n")
				} else if got+"\n" != string(want.Data) {
					t.Errorf("have %s\nwant %s", got, want.Data)
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func outcome(t *testing.T, compile func(string) (*Schema, error), text string) string {
	s, err := compile(text)
	switch {
	case err != nil:
		return "error: " + err.Error()
	case s.Text == text:
		return "as given"
	}
	again, err := compile(s.Text)
	if err != nil || again.Text != s.Text {
		t.Errorf("not stable: %v, %+v", err, again)
	}
	return s.Text
}
