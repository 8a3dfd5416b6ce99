package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
)

// sizes are how many bytes of text a payload carries.
var sizes = []size{{"100 B", 100}, {"10 KB", 10_000}}

type size struct {
	name  string
	bytes int
}

// tools are what every contender can do with {"text": …}.
var tools = []string{"echo", "upper"}

// payload is one request in every form that a contender takes it in.
type payload struct {
	tool    string
	text    string
	json    []byte      // {"text": …}
	call    abi.Request // as the host takes it
	request []byte      // as a guest of the plugin contract reads it
}

func newPayload(tool string, bytes int) *payload {
	const words = "the quick brown fox jumps over the lazy dog, again and again; "
	text := strings.Repeat(words, bytes/len(words)+1)[:bytes]
	p := &payload{tool: tool, text: text}
	p.json, _ = json.Marshal(message{text})
	input := abi.AppendString(abi.AppendString(abi.AppendMapHeader(nil, 1), "text"), text)
	p.call = abi.Request{Tool: tool, CallID: "bench", Attempt: 1, Input: input}
	p.request = abi.AppendRequest(nil, &p.call)
	return p
}

// message is what goes in and comes out.
type message struct {
	Text string `json:"text"`
}

// work is what both tools do, as Go functions.
func work(tool, text string) string {
	if tool == "upper" {
		return strings.ToUpper(text)
	}
	return text
}

// check reports whether a reply, in JSON or as a guest's msgpack, is the right one.
func (p *payload) check(reply []byte) error {
	got, err := replyText(reply)
	if err != nil {
		return fmt.Errorf("%s: %w", p.tool, err)
	}
	if want := work(p.tool, p.text); got != want {
		return fmt.Errorf("%s: the answer is %.40q…, not %.40q…", p.tool, got, want)
	}
	return nil
}

func replyText(reply []byte) (string, error) {
	if len(reply) > 0 && reply[0] == '{' {
		var m message
		err := json.Unmarshal(reply, &m)
		return m.Text, err
	}
	r, err := abi.ParseReply(reply)
	if err != nil {
		return "", err
	}
	if r.Outcome != abi.OutcomeOK {
		return "", fmt.Errorf("the guest failed: %+v", r.Failure)
	}
	value := abi.NewReader(r.Value)
	if _, err := value.Map(); err != nil {
		return "", err
	}
	if _, err := value.Str(); err != nil {
		return "", err
	}
	return value.Str()
}
