package provider_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// The recordings lie inside Go modules, which .ci/run downloads. Nothing of them is in this
// repository, and nothing in them is compiled.
var recorded = []struct{ module, folder string }{
	{"charm.land/fantasy@v0.41.2", "providertests/testdata"},
	{"github.com/tmc/langchaingo@v0.1.14", "."},
	{"github.com/anthropics/anthropic-sdk-go/v2@v2.15.0", "toolrunner/testdata/cassettes"},
}

// exchange is one recorded request with its answer.
type exchange struct {
	file, url string
	sent      []byte
	status    int
	header    http.Header
	answer    []byte
}

// moduleDir is where a module lies once it has been downloaded.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(module))
	if _, err := os.Stat(dir); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("the recordings are missing: %v", err)
		}
		t.Skipf("NO RECORDED TRAFFIC HAS BEEN REPLAYED: get it with go mod download %s", module)
	}
	return dir
}

// exchanges reads all recordings below a folder.
func exchanges(t *testing.T, root string) []exchange {
	t.Helper()
	var all []exchange
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		var list []exchange
		switch filepath.Ext(path) {
		case ".yaml":
			list, err = readYAML(path)
		case ".httprr":
			list, err = readTrace(path)
		}
		name, _ := filepath.Rel(root, path)
		for i := range list {
			list[i].file = fmt.Sprintf("%s#%d", filepath.ToSlash(name), i)
		}
		all = append(all, list...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// readYAML reads what go-vcr writes. Other files in YAML hold no interactions.
func readYAML(path string) ([]exchange, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Interactions []struct {
			Request struct {
				URL, Body string
			}
			Response struct {
				Body    string
				Code    int
				Headers http.Header
			}
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var list []exchange
	for _, in := range file.Interactions {
		list = append(list, exchange{"", in.Request.URL, []byte(in.Request.Body),
			in.Response.Code, in.Response.Headers, []byte(in.Response.Body)})
	}
	return list, nil
}

// readTrace reads what httprr writes: for each exchange a line with two lengths, and then a
// request and a response as they go over the wire.
func readTrace(path string) ([]exchange, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	_, rest, _ := bytes.Cut(text, []byte("\n"))
	var list []exchange
	for len(rest) > 0 {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		var in, out int
		if _, err := fmt.Sscanf(string(line), "%d %d", &in, &out); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, line, err)
		}
		e, err := readWire(after[:in], after[in:in+out])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		list, rest = append(list, e), after[in+out:]
	}
	return list, nil
}

func readWire(request, response []byte) (exchange, error) {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(request)))
	if err != nil {
		return exchange{}, err
	}
	sent, err := io.ReadAll(req.Body)
	if err != nil {
		return exchange{}, err
	}
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(response)), req)
	if err != nil {
		return exchange{}, err
	}
	answer, err := io.ReadAll(resp.Body)
	return exchange{"", req.URL.String(), sent, resp.StatusCode, resp.Header, answer}, err
}
