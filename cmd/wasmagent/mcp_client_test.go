package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

// rpcMessage is what a script has to know of a JSON-RPC message.
type rpcMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// dialog is a client of a server over its standard streams.
type dialog struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	watched func(line string) // each line of the server's; nil: nobody
}

func startDialog(cmd *exec.Cmd) (*dialog, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &dialog{cmd: cmd, in: in, out: bufio.NewReader(out)}, cmd.Start()
}

// say sends a message and, when it is a request, gives its answer.
func (d *dialog) say(line string) (string, error) {
	var sent rpcMessage
	if err := json.Unmarshal([]byte(line), &sent); err != nil {
		return "", err
	}
	if _, err := io.WriteString(d.in, line+"\n"); err != nil || sent.ID == nil {
		return "", err
	}
	for {
		answer, err := d.out.ReadString('\n')
		if err != nil {
			return "", err
		}
		if d.watched != nil {
			d.watched(answer)
		}
		var got rpcMessage
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			return "", fmt.Errorf("stdout has %q", answer)
		}
		if string(got.ID) == string(sent.ID) && got.Method == "" {
			return answer, nil
		}
	}
}

// hear gives the next notification of a method.
func (d *dialog) hear(method string) (string, error) {
	for {
		line, err := d.out.ReadString('\n')
		var got rpcMessage
		if err != nil || json.Unmarshal([]byte(line), &got) == nil && got.Method == method {
			return line, err
		}
	}
}

// end closes the server's stdin and waits for it.
func (d *dialog) end() error {
	if err := d.in.Close(); err != nil {
		return err
	}
	if rest, err := io.ReadAll(d.out); err != nil || len(rest) > 0 {
		return fmt.Errorf("stdout ends with %q, %v", rest, err)
	}
	return d.cmd.Wait()
}

// dialogMain has a dialog with a command: it sends the lines of stdin, waits after each request for
// the answer, and writes all that the command writes to stdout. It ends as the command did.
func dialogMain() { os.Exit(converse(exec.Command(os.Args[1], os.Args[2:]...))) }

// fromSettingsMain is dialog with the command that a client's settings name.
func fromSettingsMain() {
	b, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	var settings struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		}
	}
	if err := json.Unmarshal(b, &settings); err != nil {
		panic(err)
	}
	s := settings.MCPServers["wasmagent"]
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env = []string{"HOME=" + os.Getenv("HOME")}
	for name, value := range s.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	os.Exit(converse(cmd))
}

func converse(cmd *exec.Cmd) int {
	cmd.Stderr = os.Stderr
	d, err := startDialog(cmd)
	if err != nil {
		panic(err)
	}
	d.watched = func(line string) { fmt.Print(line) }
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if _, err := d.say(lines.Text()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := d.end(); err != nil && cmd.ProcessState == nil {
		panic(err)
	}
	return cmd.ProcessState.ExitCode()
}

var servingLine = regexp.MustCompile(`serving MCP at (http://\S+); bearer token: (?:in (.+))?`)

// postsMain starts a server over HTTP, posts the lines of stdin to it, and writes each answer's
// status and body. It has the server's token, or $TOKEN, and a header of $HEADER. Then it sends the
// server SIGTERM and ends as that did.
func postsMain() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		fmt.Fprintln(os.Stderr, lines.Text())
		if m := servingLine.FindStringSubmatch(lines.Text()); m != nil {
			token, _ := os.ReadFile(m[2]) // none where none is needed
			postLines(m[1], strings.TrimSpace(string(token)))
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				panic(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() < 0 {
		panic(err)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

func postLines(url, token string) {
	if other := os.Getenv("TOKEN"); other != "" {
		token = other
	}
	session := ""
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(lines.Text()))
		if err != nil {
			panic(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("Authorization", "Bearer "+token)
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		if name, value, ok := strings.Cut(os.Getenv("HEADER"), ": "); ok {
			req.Header.Set(name, value)
		}
		if host := req.Header.Get("Host"); host != "" {
			req.Host = host
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			panic(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			panic(err)
		}
		res.Body.Close()
		if id := res.Header.Get("Mcp-Session-Id"); id != "" {
			session = id
		}
		fmt.Printf("%d %s\n", res.StatusCode, strings.Join(strings.Fields(string(body)), " "))
	}
}
