package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

// peerTools are the tools of the MCP server that scripts have beside the plugins.
const peerTools = `
{"name":"addNote","description":"Keep a note.","annotations":{"readOnlyHint":true},
 "inputSchema":{"type":"object","properties":{"id":{"type":"string"},"text":{"type":"string"}}}},
{"name":"refuse","inputSchema":{"type":"object"}},
{"name":"learn","inputSchema":{"type":"object"}},
{"name":"die","inputSchema":{"type":"object"}},
{"name":"broken","inputSchema":{"type":"object","properties":7}},
{"name":"greet","description":"Greet somebody.","inputSchema":{"type":"object"}}`

// peerMain is that server, on its standard streams. It writes a line to the file that its argument
// names when it starts, and one for each note; peer -gone ends at once,
// and peer -hang answers nothing.
func peerMain() {
	if os.Args[1] == "-gone" {
		fmt.Fprintln(os.Stderr, "no database")
		os.Exit(3)
	}
	if os.Args[1] == "-hang" {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	peerNote("started " + os.Getenv("PEER_TOKEN"))
	offers := peerTools
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m struct {
			rpcMessage
			Params struct {
				Version   string            `json:"protocolVersion"`
				Name      string            `json:"name"`
				Arguments map[string]string `json:"arguments"`
				Meta      struct {
					Key string `json:"wasmagent/key"`
				} `json:"_meta"`
			} `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		result := `{}`
		switch p := m.Params; {
		case m.ID == nil:
			continue
		case m.Method == "initialize":
			result = fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},`+
				`"serverInfo":{"name":"peer","version":"1"}}`, p.Version)
		case m.Method == "tools/list":
			result = `{"tools":[` + offers + `]}`
		case m.Method != "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", m.ID)
			continue
		case p.Name == "learn":
			offers = strings.Replace(peerTools, "learn", "forget", 1)
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			result = `{"content":[]}`
		case p.Name == "die":
			fmt.Fprintln(os.Stderr, "out of luck")
			os.Exit(3)
		case p.Name == "refuse":
			result = `{"isError":true,"content":[{"type":"text","text":"not on Sundays"}]}`
		default:
			peerNote(fmt.Sprintf("%s %s key=%s", p.Name, p.Arguments["text"], p.Meta.Key))
			result = `{"content":[{"type":"text","text":"kept"}]}`
		}
		compact, err := json.Marshal(json.RawMessage(result))
		if err != nil {
			panic(err)
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, compact)
	}
}

func peerNote(line string) {
	f, err := os.OpenFile(os.Args[1], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	fmt.Fprintln(f, line)
}
