package schema

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// suiteDir is where a module that this one needs keeps the public test suite for JSON Schema.
func suiteDir(t *testing.T) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/google/jsonschema-go").Output()
	dir := filepath.Join(strings.TrimSpace(string(out)), "jsonschema", "testdata", "draft2020-12")
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		t.Skipf("no test suite for JSON Schema in the module cache: %v", err)
	}
	return dir
}

// TestSchemaSuite holds the public test suite against both roads of a check: a schema of common
// keywords must give what the suite says, and what the library says.
func TestSchemaSuite(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(suiteDir(t), "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("an empty suite", err)
	}
	common, rare := 0, 0
	for _, file := range files {
		var groups []struct {
			Description string
			Schema      json.RawMessage
			Tests       []struct {
				Description string
				Data        json.RawMessage
				Valid       bool
			}
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			s, err := Compile(string(g.Schema))
			if err != nil {
				t.Logf("%s: %s: %v", filepath.Base(file), g.Description, err)
				continue
			}
			for _, test := range g.Tests {
				v, err := pack(string(test.Data))
				if err != nil {
					continue // an integer past 64 bits
				}
				if s.common {
					common++
				} else {
					rare++
				}
				if err := s.Check(v); (err == nil) != test.Valid {
					t.Errorf("%s: %s: %s: want valid %v, have %v", filepath.Base(file),
						g.Description, test.Description, test.Valid, err)
				}
			}
		}
	}
	t.Logf("%d cases by the common road, %d by the rare one", common, rare)
	if common < 500 || rare < 200 {
		t.Error("one of the roads is hardly tested")
	}
}
