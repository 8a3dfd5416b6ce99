package policy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestAdd runs the case files: a file, and flags of allow for the plugin fetch. "want" has what is
// added behind the file, or why nothing can be.
func TestAdd(t *testing.T) {
	files, err := filepath.Glob("testdata/add/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			before := string(a.Files[0].Data)
			text, err := add("wasmagent.toml", before, "fetch", additions(t, string(a.Files[1].Data)))
			have := text
			if err != nil {
				have = strings.TrimSpace(err.Error()) + "\n"
			} else if _, _, err := parse("wasmagent.toml", before+text, nil); err != nil {
				have += "which is wrong: " + err.Error() + "\n"
			}
			check(t, file, a, have)
		})
	}
}

// additions reads lines as --flag value.
func additions(t *testing.T, lines string) *Additions {
	t.Helper()
	a := &Additions{}
	for line := range strings.Lines(lines) {
		flag, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if flag == "" {
			continue
		}
		into := map[string]*[]string{"--http": &a.HTTP, "--mount": &a.Mounts, "--secret": &a.Secrets,
			"--env": &a.Env, "--set": &a.Config}[flag]
		switch {
		case flag == "--kv":
			a.KV = true
		case into == nil:
			t.Fatalf("no flag %s", flag)
		default:
			*into = append(*into, value)
		}
	}
	return a
}

// What was added once is not added again.
func TestAddTwice(t *testing.T) {
	all := &Additions{KV: true, HTTP: []string{"POST,PUT http://localhost:8080/v1", "example.org"},
		Mounts: []string{"/data:/data:rw", "scratch:/tmp"}, Env: []string{"TZ=UTC"},
		Config:  []string{"n=5", "list=[1, 2]", "text=a b", "when=2026-01-01"},
		Secrets: []string{"t=env:T@example.org"}}
	const before = "# mine\r\n[plugins.other]\nkv = true # no newline"
	text, err := add("f", before, "fetch", all)
	if err != nil {
		t.Fatal(err)
	}
	doc, _, err := parse("f", before+text, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := doc.Plugins["fetch"]
	if !s.KV || len(s.HTTP) != 2 || len(s.Files) != 2 || s.Env["TZ"] != "UTC" || len(s.Secrets) != 1 ||
		!slices.Equal(s.HTTP[0].Methods, []string{"POST", "PUT"}) || s.Config["n"] != int64(5) ||
		s.Config["text"] != "a b" || s.Config["when"] != "2026-01-01" {
		t.Errorf("%+v", s)
	}
	if text, err = add("f", before+text, "fetch", all); err != nil || text != "" {
		t.Errorf("%q, %v", text, err)
	}
}
