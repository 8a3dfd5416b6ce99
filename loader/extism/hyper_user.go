package extism

import (
	"fmt"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
)

// userModule is what plugins import the functions from that are not Extism's own.
const userModule = "extism:host/user"

// Limits of what a plugin hands to hyper-mcp's functions.
const (
	maxNotice       = 64 << 10 // bytes of a notification; a longer one is not read
	maxProgressText = 512      // characters of a message of progress
)

// hyperUser are the functions that hyper-mcp has for its plugins. What there is nothing for here is
// refused in the words in which hyper-mcp itself says that a client lacks it.
var hyperUser = []struct {
	name, params, results string
	do                    func(c *call)
}{
	{"create_elicitation", "I", "I", answers(`{"action":"decline","content":{"error":` +
		`"nobody can be asked: this host has no elicitation"}}`)},
	{"create_message", "I", "I", answers(`{"role":"assistant","content":{"type":"text","text":` +
		`"this host has no sampling"},"model":"","stopReason":"error"}`)},
	{"get_access_token", "I", "I", answers(`{"Error":"this host gets no tokens for plugins: ` +
		`its operator can have a secret sent with requests"}`)},
	{"get_keyring_secret", "I", "I", (*call).keyringSecret},
	{"list_roots", "", "I", answers(`{"roots":[]}`)},
	{"notify_logging_message", "I", "", (*call).notifyLog},
	{"notify_progress", "I", "", (*call).notifyProgress},
	{"notify_prompt_list_changed", "", "", (*call).unheard},
	{"notify_resource_list_changed", "", "", (*call).unheard},
	{"notify_resource_updated", "I", "", (*call).unheard},
	{"notify_tool_list_changed", "", "", (*call).unheard},
	{"notify_url_elicitation_completed", "I", "", (*call).unheard},
}

// hyperFunctions are hyper-mcp's, for the sandbox.
func hyperFunctions() []host.Function {
	list := make([]host.Function, len(hyperUser))
	for i, f := range hyperUser {
		list[i] = host.Function{Module: userModule, Name: f.name, Params: types(f.params),
			Results: types(f.results), Call: func(g *host.Guest, stack []uint64) {
				f.do(enter(g, stack))
			}}
	}
	return list
}

// answers always gives the same.
func answers(text string) func(*call) {
	return func(c *call) { c.stack[0] = c.put([]byte(text)) }
}

// unheard is a notification that nobody here waits for.
func (c *call) unheard() {}

// notice reads what a plugin hands over. Nothing can be told about what is wrong with it.
func (c *call) notice() (o object, raw []byte, ok bool) {
	if raw = c.text(c.stack[0]); len(raw) > maxNotice {
		return object{}, raw, false
	}
	o, err := (&document{}).parse(raw)
	return o, raw, err == nil
}

// levels are those of syslog, in MCP's words.
var levels = map[string]abi.Level{
	"debug": abi.LevelDebug, "info": abi.LevelInfo, "notice": abi.LevelInfo,
	"warning": abi.LevelWarn, "error": abi.LevelError, "critical": abi.LevelError,
	"alert": abi.LevelError, "emergency": abi.LevelError,
}

// notifyLog logs a line. What cannot be read is logged as it is.
func (c *call) notifyLog() {
	o, raw, ok := c.notice()
	if !ok {
		c.Log(abi.LevelInfo, raw)
		return
	}
	level, known := levels[o.word("level")]
	if !known {
		level = abi.LevelInfo
	}
	text := compact(o.raw("data"))
	if data := o.raw("data"); data != nil && kindOf(data) == "a string" {
		text = o.word("data")
	}
	if logger := o.word("logger"); logger != "" {
		text = logger + ": " + text
	}
	c.Log(level, []byte(text))
}

// notifyProgress reports progress, whatever token it has: an instance serves one call at a time.
func (c *call) notifyProgress() {
	o, _, ok := c.notice()
	p := abi.Progress{Done: o.number("progress"), Total: o.number("total"),
		Message: abi.CleanText(o.word("message"), maxProgressText)}
	if ok && o.d.err == nil && p.Done >= 0 && p.Total >= 0 && c.InCall() {
		c.Progress(p)
	}
}

// keyringSecret gives the setting keyring/SERVICE/USER, and nothing of any keyring. An empty secret
// is how hyper-mcp refuses one.
func (c *call) keyringSecret() {
	o, _, _ := c.notice()
	name := "keyring/" + o.word("service") + "/" + o.word("user")
	c.stack[0] = 0
	raw, ok := c.Config(name)
	if !ok {
		c.Log(abi.LevelWarn, fmt.Appendf(nil,
			"get_keyring_secret: refused, since the policy has no setting %q", clean(name)))
		return
	}
	if value, err := configText(raw); err == nil {
		c.stack[0] = c.put(value)
	}
}
