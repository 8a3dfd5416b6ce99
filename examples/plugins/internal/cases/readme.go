package cases

import (
	"os"
	"regexp"
	"testing"

	"github.com/wasmagent/wasmagent/pdk/pdktest"
)

// example is a call in a README: the command with its arguments, and perhaps a line that tells the
// result.
var example = regexp.MustCompile(`(?ms)^wasmagent call (\w+) '(.*?)'\n(\{.*?\}\n)?`)

// Readme runs the example calls of the plugin's tools in ../README.md. There must be one.
func Readme(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	mine := make(map[string]bool)
	for _, tool := range pdktest.Manifest().Tools {
		mine[tool.Name] = true
	}
	examples := 0
	for _, m := range example.FindAllStringSubmatch(string(text), -1) {
		if !mine[m[1]] {
			continue
		}
		examples++
		got, err := pdktest.Call(m[1], m[2])
		switch {
		case err != nil:
			t.Errorf("%s: %v", m[1], err)
		case m[3] != "" && indent(t, got) != indent(t, m[3]):
			t.Errorf("%s gave %s, README says %s", m[1], got, m[3])
		}
	}
	if examples == 0 {
		t.Error("README shows no call of this plugin's tools")
	}
}
