package config

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what loading gives into testdata/load/*.txtar")

// TestLoad runs the case files: user.toml, project.toml and overrides ("FROM KEY = VALUE"), and in
// "want" the mistakes, or what is not a default.
func TestLoad(t *testing.T) {
	files, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no case files (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			have := load(t, a)
			i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
			if *update {
				if i < 0 {
					i = len(a.Files)
					a.Files = append(a.Files, txtar.File{Name: "want"})
				}
				a.Files[i].Data = []byte(have)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if i < 0 || have != string(a.Files[i].Data) {
				t.Errorf("have\n%s", have)
			}
			if strings.Contains(have, "secret") {
				t.Errorf("something secret is shown:\n%s", have)
			}
		})
	}
}

func load(t *testing.T, a *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	o := options(t, dir)
	for _, f := range a.Files {
		switch f.Name {
		case "user.toml":
			write(t, o.File, string(f.Data))
		case "project.toml":
			write(t, filepath.Join(dir, ProjectFile), string(f.Data))
		case "overrides":
			o.Overrides = overrides(t, string(f.Data))
		}
	}
	c, err := Load(o)
	return strings.ReplaceAll(outcome(t, c, err), dir, "$DIR")
}

// options are those of a directory with an empty file of the user.
func options(t *testing.T, dir string) *Options {
	t.Helper()
	o := &Options{File: filepath.Join(dir, "user.toml"), Dir: dir}
	write(t, o.File, "")
	return o
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func overrides(t *testing.T, list string) (all []Override) {
	t.Helper()
	for line := range strings.Lines(list) {
		from, rest, _ := strings.Cut(line, " ")
		key, value, _ := strings.Cut(rest, " = ")
		var v struct{ V any }
		if _, err := toml.Decode("v = "+value, &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, Override{Key: key, Value: v.V, From: from})
	}
	return all
}

func outcome(t *testing.T, c *Config, err error) string {
	t.Helper()
	if err != nil {
		return mistakes(t, err)
	}
	var out strings.Builder
	for _, s := range c.Effective() {
		if len(s.From) == 1 && s.From[0].Kind == FromDefault {
			continue
		}
		fmt.Fprintf(&out, "%s = %s", s.Key, s.Value)
		for _, from := range s.From {
			fmt.Fprintf(&out, "  # %s %v", from.Kind, from)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// mistakes are a line each, and each is an *Error.
func mistakes(t *testing.T, err error) string {
	t.Helper()
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	if len(list) > MaxProblems {
		t.Errorf("%d mistakes", len(list))
	}
	for _, one := range list {
		if e := new(Error); !errors.As(one, &e) || e.File == "" && e.From == "" {
			t.Errorf("%T: %v", one, one)
		}
		if strings.Contains(one.Error(), "\n") {
			t.Errorf("more than one line: %q", one)
		}
	}
	return err.Error() + "\n"
}
