// Plugin grants is the guest of the host's tests that uses what can be granted: files, http, kv,
// the environment.
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/pdk"
)

type script struct {
	Lines []string `json:"lines"`
	End   string   `json:"end,omitempty"` // how the call ends: fail, invalid, trap, exit; else with a result
}

type answers struct {
	Lines []string `json:"lines"`
}

func init() {
	pdk.Plugin("grants", "1.0.0")
	pdk.Needs(abi.Needs{
		HTTP: []abi.HTTPNeed{{Host: "*.test", Optional: true}},
		KV:   &abi.KVNeed{Optional: true},
	})
	pdk.Register(pdk.Tool{Name: "run"}, run)
	pdk.Register(pdk.Tool{Name: "echo"}, func(_ *pdk.Call, in script) (script, error) {
		return in,
			nil
	})
	pdk.Register(pdk.Tool{Name: "send"}, send)
	_, early := os.ReadFile("/data/early")
	loading = outcome("read", early)
}

// loading is what came of opening a file while the plugin was loaded.
var loading string

func main() {}

// open has the files that a script has open, by name.
var open = map[string]*os.File{}

func run(c *pdk.Call, in script) (answers, error) {
	var out answers
	for _, line := range in.Lines {
		out.Lines = append(out.Lines, do(c, strings.Fields(line)))
	}
	switch in.End {
	case "fail":
		return out, errors.New("failed after " + strings.Join(out.Lines, "; "))
	case "invalid":
		return out, pdk.InvalidInput("/lines", "nothing was done, honestly")
	case "trap":
		panic("trapped")
	case "exit":
		os.Exit(3)
	}
	return out, nil
}

func do(c *pdk.Call, f []string) string {
	text, err := carryOut(c, f)
	return outcome(text, err)
}

// outcome is "ok" with a text, or the error's number in words.
func outcome(text string, err error) string {
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return "error " + errno.Error()
	case err != nil:
		return "error " + err.Error()
	case text == "":
		return "ok"
	}
	return "ok " + text
}

func carryOut(c *pdk.Call, f []string) (string, error) {
	arg := func(i int) string {
		if i < len(f) {
			return f[i]
		}
		return ""
	}
	number := func(i int) int64 { n, _ := strconv.ParseInt(arg(i), 10, 64); return n }
	switch f[0] {
	case "loading":
		return loading, nil
	case "env":
		return strings.Join(os.Environ(), " "), nil
	case "read":
		b, err := os.ReadFile(f[1])
		return string(b), err
	case "write":
		return "", os.WriteFile(f[1], []byte(arg(2)), 0o666)
	case "fill": // a file of that many bytes
		return "", os.WriteFile(f[1], make([]byte, number(2)), 0o666)
	case "append":
		return "", appendTo(f[1], arg(2))
	case "create": // one that is not there
		file, err := os.OpenFile(f[1], os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o666)
		if err == nil {
			err = file.Close()
		}
		return "", err
	case "files": // that many
		for i := range number(2) {
			if err := os.WriteFile(f[1]+strconv.FormatInt(i, 10), nil, 0o666); err != nil {
				return "", fmt.Errorf("file %d: %w", i, err)
			}
		}
		return "", nil
	case "hold": // that many open
		for i := range number(2) {
			file, err := os.Open(f[1])
			if err != nil {
				return "", fmt.Errorf("at %d: %w", i, err)
			}
			open[strconv.FormatInt(i, 10)] = file
		}
		return "", nil
	case "held":
		return strconv.Itoa(len(open)), nil
	case "truncopen":
		file, err := os.OpenFile(f[1], os.O_RDONLY|os.O_TRUNC, 0)
		if err == nil {
			err = file.Close()
		}
		return "", err
	case "open":
		file, err := os.OpenFile(f[2], os.O_CREATE|os.O_RDWR, 0o666)
		open[f[1]] = file
		return "", err
	case "close":
		return "", open[f[1]].Close()
	case "puts":
		_, err := open[f[1]].WriteString(arg(2))
		return "", err
	case "putat":
		_, err := open[f[1]].WriteAt([]byte(arg(3)), number(2))
		return "", err
	case "getat":
		b := make([]byte, number(3))
		n, err := open[f[1]].ReadAt(b, number(2))
		if err == io.EOF {
			err = nil
		}
		return string(b[:n]), err
	case "seek":
		at, err := open[f[1]].Seek(number(2), int(number(3)))
		return strconv.FormatInt(at, 10), err
	case "rest":
		b, err := io.ReadAll(open[f[1]])
		return string(b), err
	case "truncate":
		return "", open[f[1]].Truncate(number(2))
	case "sync":
		return "", open[f[1]].Sync()
	case "mkdir":
		return "", os.Mkdir(f[1], 0o777)
	case "remove":
		return "", syscall.Unlink(f[1])
	case "rmdir":
		return "", syscall.Rmdir(f[1])
	case "removeall":
		return "", os.RemoveAll(f[1])
	case "rename":
		return "", os.Rename(f[1], f[2])
	case "symlink":
		return "", os.Symlink(f[1], f[2])
	case "link":
		return "", os.Link(f[1], f[2])
	case "readlink":
		return os.Readlink(f[1])
	case "stat":
		return facts(os.Stat(f[1]))
	case "lstat":
		return facts(os.Lstat(f[1]))
	case "times":
		when := time.Unix(number(2), 0)
		return "", os.Chtimes(f[1], when, when)
	case "mtime":
		info, err := os.Stat(f[1])
		if err != nil {
			return "", err
		}
		return strconv.FormatInt(info.ModTime().Unix(), 10), nil
	case "list":
		return list(f[1])
	case "print":
		_, err := fmt.Fprintln(os.Stderr, strings.Join(f[1:], " "))
		return "", err
	case "log":
		c.Info(strings.Join(f[1:], " "))
		return "", nil
	case "spin":
		for {
			_ = f
		}
	case "get", "set", "fillkey", "delete", "count", "keys":
		return remember(pdk.KV(c), f)
	case "http":
		return request(pdk.HTTP(c), f)
	}
	return "", errors.New("what is " + f[0])
}

func appendTo(name, text string) error {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

func facts(info fs.FileInfo, err error) (string, error) {
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d", info.Mode().Type(), info.Size()), nil
}

func list(name string) (string, error) {
	entries, err := os.ReadDir(name)
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range entries {
		if names = append(names, e.Name()); e.IsDir() {
			names[len(names)-1] += "/"
		}
	}
	if len(names) > 20 {
		return fmt.Sprintf("%d: %s to %s", len(names), names[0], names[len(names)-1]), nil
	}
	return strings.Join(names, " "), nil
}

func remember(kv pdk.KVSpace, f []string) (string, error) {
	switch f[0] {
	case "get":
		var value string
		ok, err := kv.Get(f[1], &value)
		if err == nil && !ok {
			value = "none"
		}
		return value, err
	case "set":
		return "", kv.Set(f[1], f[2])
	case "fillkey": // a value of that many bytes
		n, err := strconv.Atoi(f[2])
		if err != nil {
			return "", err
		}
		return "", kv.Set(f[1], make([]byte, n))
	case "delete":
		return "", kv.Delete(f[1])
	case "count": // one more
		var value string
		if _, err := kv.Get(f[1], &value); err != nil {
			return "", err
		}
		return "", kv.Set(f[1], value+"i")
	}
	var limit int
	var prefix, after string
	fmt.Sscanf(strings.Join(f[1:], " "), "%d %s %s", &limit, &prefix, &after)
	if prefix == "-" {
		prefix = ""
	}
	keys, more, err := kv.List(prefix, after, limit)
	return fmt.Sprint(keys, " ", more), err
}

// request sends METHOD URL [BODY [NAME:VALUE]...].
func request(h pdk.HTTPClient, f []string) (string, error) {
	r := &pdk.Request{Method: f[1], URL: f[2]}
	for i, word := range f[3:] {
		if i == 0 {
			r.Body = []byte(word)
			continue
		}
		name, value, _ := strings.Cut(word, ":")
		r.Headers = append(r.Headers, pdk.Header{Name: name, Value: value})
	}
	resp, err := h.Do(r)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("%d %s", resp.Status, resp.Body)
	if len(resp.Body) > 200 {
		text = fmt.Sprintf("%d %d bytes", resp.Status, len(resp.Body))
	}
	if resp.Truncated {
		text += " truncated"
	}
	return text, nil
}

type sending struct {
	Method    string     `json:"method,omitempty"`
	URL       string     `json:"url"`
	Headers   [][]string `json:"headers,omitempty"`
	Body      string     `json:"body,omitempty"`
	TimeoutMS int64      `json:"timeout_ms,omitempty"`
}

type received struct {
	Kind    string     `json:"kind,omitempty"`
	Message string     `json:"message,omitempty"`
	Status  int        `json:"status,omitempty"`
	URL     string     `json:"url,omitempty"`
	Headers [][]string `json:"headers,omitempty"`
	Body    string     `json:"body,omitempty"`
	Cut     bool       `json:"cut,omitempty"`
}

// send sends one request and tells all of what came back.
func send(c *pdk.Call, in sending) (received, error) {
	r := &pdk.Request{Method: in.Method, URL: in.URL, TimeoutMS: in.TimeoutMS}
	if in.Body != "" {
		r.Body = []byte(in.Body)
	}
	for _, h := range in.Headers {
		r.Headers = append(r.Headers, pdk.Header{Name: h[0], Value: h[1]})
	}
	resp, err := pdk.HTTP(c).Do(r)
	var failed *pdk.HostError
	if errors.As(err, &failed) {
		return received{Kind: string(failed.Kind), Message: failed.Message}, nil
	}
	if err != nil {
		return received{}, err
	}
	out := received{Status: resp.Status, URL: resp.URL, Body: string(resp.Body),
		Cut: resp.Truncated}
	for _, h := range resp.Headers {
		out.Headers = append(out.Headers, []string{h.Name, h.Value})
	}
	return out, nil
}
