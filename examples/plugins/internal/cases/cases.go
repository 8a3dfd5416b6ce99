// Package cases runs calls of tools that are written down in txtar files, and compares what they
// give.
//
// A file opens with a sentence on what it shows. Then come pairs of a call and what it gives:
//
//	-- call jq --
//	{"filter": ".a", "input": {"a": 1}}
//	-- want --
//	{"results": [1]}
//
// A call that gives an error wants one line: the kind, and the code or pointer and the message that
// the tool gave; if it was not the tool, because its schema refuses the arguments, nothing more. A
// section "-- text NAME --" holds a text that later calls refer to by the string "@NAME". With the
// flag -update the wants are written anew.
package cases

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/wasmagent/wasmagent/pdk"
	"github.com/wasmagent/wasmagent/pdk/pdktest"
)

var update = flag.Bool("update", false, "write what the calls give into testdata/*.txtar")

// Run runs the files testdata/*.txtar of the test's package.
func Run(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no testdata/*.txtar (%v)", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runFile(t, file) })
	}
}

func runFile(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.TrimSpace(archive.Comment)) == 0 {
		t.Fatal("the file does not say what it shows")
	}
	texts := make(map[string]string)
	var done []txtar.File
	for i, f := range archive.Files {
		word, name, _ := strings.Cut(f.Name, " ")
		switch word {
		case "text":
			texts[name] = string(f.Data)
		case "want":
			continue
		case "call":
			want := ""
			if i+1 < len(archive.Files) && archive.Files[i+1].Name == "want" {
				want = string(archive.Files[i+1].Data)
			}
			got := Call(t, name, fill(t, string(f.Data), texts))
			if !*update && got != want {
				t.Errorf("%s %sgave\n%swant\n%s", name, f.Data, got, want)
			}
			done = append(done, f, txtar.File{Name: "want", Data: []byte(got)})
			continue
		default:
			t.Fatalf("section %q is not a call, a want or a text", f.Name)
		}
		done = append(done, f)
	}
	if *update {
		archive.Files = done
		if err := os.WriteFile(file, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Call gives the result of a call as indented JSON, or the line that tells its error.
func Call(t *testing.T, tool, args string) string {
	t.Helper()
	result, err := pdktest.Call(tool, args)
	if err != nil {
		return describe(t, err) + "\n"
	}
	return indent(t, result)
}

func indent(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace([]byte(text)), "", "  "); err != nil {
		t.Fatalf("%s is no JSON: %v", text, err)
	}
	return out.String() + "\n"
}

// describe gives an error in one line.
func describe(t *testing.T, err error) string {
	t.Helper()
	var call *pdktest.Error
	if !errors.As(err, &call) {
		t.Fatalf("%T: %v", err, err)
	}
	var f *pdk.Failure
	if !errors.As(call.Err, &f) {
		return call.Kind + " (not by the tool)"
	}
	text := call.Kind
	for _, part := range []string{f.Code, f.Pointer} {
		if part != "" {
			text += " " + part
		}
	}
	if f.Permanent {
		text += " (permanent)"
	}
	return text + ": " + strings.ReplaceAll(f.Message, "\n", " ")
}

// fill puts the texts where args refer to them.
func fill(t *testing.T, args string, texts map[string]string) string {
	t.Helper()
	for name, text := range texts {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		args = strings.ReplaceAll(args, fmt.Sprintf("%q", "@"+name), string(quoted))
	}
	return args
}
