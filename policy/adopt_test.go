package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAdopt(t *testing.T) {
	functions := []AdoptedFunction{{"count", "count"}, {"odd_name", "odd name [ceiling]\"'"}}
	for _, c := range []struct{ before, plugin, want string }{
		{"", "vowels", `[plugins.vowels]
kind = "extism"

[plugins.vowels.functions.count]
export = "count"
` + hintFunction + `
[plugins.vowels.functions.odd_name]
export = "odd name [ceiling]\"'"
` + hintFunction},
		{"# mine\n[plugins.a]\nkv = true", "b.c", `[plugins."b.c"]
kind = "extism"

[plugins."b.c".functions.count]
export = "count"
` + hintFunction + `
[plugins."b.c".functions.odd_name]
export = "odd name [ceiling]\"'"
` + hintFunction},
	} {
		file := filepath.Join(t.TempDir(), "wasmagent.toml")
		if err := os.WriteFile(file, []byte(c.before), 0o600); err != nil {
			t.Fatal(err)
		}
		adopt := func(dry bool) (string, error) {
			p, err := Open(file, &Options{StateDir: t.TempDir(), Kinds: []string{"extism"}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			return p.Adopt(c.plugin, &Adoption{Kind: "extism", Functions: functions, DryRun: dry})
		}
		for _, dry := range []bool{true, false} {
			if have, err := adopt(dry); err != nil || have != c.want {
				t.Errorf("dry %v: %v\n%s", dry, err, have)
			}
			after, err := os.ReadFile(file)
			if written := string(after) != c.before; err != nil || written == dry {
				t.Errorf("dry %v: %v, the file is\n%s", dry, err, after)
			}
			if !strings.HasPrefix(string(after), c.before) {
				t.Errorf("what was there is not there any more:\n%s", after)
			}
		}
		_, err := adopt(false)
		if e, ok := errors.AsType[*SectionError](err); !ok || e.Line == 0 {
			t.Errorf("a second time: %v", err)
		}
	}
}

// A section without functions gets them, in tables of their own; what has functions, or has a form
// that no table can be added to, is left alone.
func TestAdoptRefuses(t *testing.T) {
	const there = ":1: the section [plugins.vowels] has functions already"
	for before, want := range map[string]string{
		"[plugins.vowels]":                         "",
		"[plugins.vowels]\nkind = \"command\"":     "",
		"\n[plugins.vowels.limits]\ntime = \"1s\"": "",
		"[plugins.vowels.functions.f]":             there,
		"[plugins.vowels]\nfunctions.f = {}":       "add by hand what is missing of\n[plugins.vowels.functions.v]\n",
		"[ceiling.limits]\ntime = \"5s\"\n\n#":     "",
	} {
		file := filepath.Join(t.TempDir(), "wasmagent.toml")
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := Open(file, &Options{StateDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		text, err := p.Adopt("vowels", &Adoption{Kind: "command", Told: true,
			Functions: []AdoptedFunction{{Tool: "v"}}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v\nwant %s", before, err, want)
		}
		if err == nil && strings.Contains(before, "[plugins.vowels") &&
			!strings.HasPrefix(text, "[plugins.vowels.functions.v]\n") {
			t.Errorf("%q: have\n%s", before, text)
		}
		after, _ := os.ReadFile(file)
		if want != "" && string(after) != before {
			t.Errorf("%q: the file is\n%s", before, after)
		}
	}
}

// What is commented out is right when the comments are taken away.
func TestAdoptHints(t *testing.T) {
	for kind, hint := range map[string]string{"extism": hintFunction, "command": hintCommand} {
		content := "[plugins.a]\nkind = \"" + kind + "\"\n[plugins.a.functions.f]\n"
		for line := range strings.Lines(hint) {
			line, commented := strings.CutPrefix(line, "# ")
			if !commented || !strings.Contains(line, " = ") {
				continue
			}
			if _, _, err := parse("f", content+line, nil); err != nil {
				t.Error(err)
			}
		}
	}
}
