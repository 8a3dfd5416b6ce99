// Hyper2 is a plugin as the second version of hyper-mcp has them. It has all of its exports and asks
// for all of its imports.
package main

import (
	"encoding/json"

	"github.com/extism/go-pdk"
)

//go:wasmimport extism:host/user create_elicitation
func createElicitation(uint64) uint64

//go:wasmimport extism:host/user create_message
func createMessage(uint64) uint64

//go:wasmimport extism:host/user get_access_token
func getAccessToken(uint64) uint64

//go:wasmimport extism:host/user get_keyring_secret
func getKeyringSecret(uint64) uint64

//go:wasmimport extism:host/user list_roots
func listRoots() uint64

//go:wasmimport extism:host/user notify_logging_message
func notifyLoggingMessage(uint64)

//go:wasmimport extism:host/user notify_progress
func notifyProgress(uint64)

//go:wasmimport extism:host/user notify_prompt_list_changed
func notifyPromptListChanged()

//go:wasmimport extism:host/user notify_resource_list_changed
func notifyResourceListChanged()

//go:wasmimport extism:host/user notify_resource_updated
func notifyResourceUpdated(uint64)

//go:wasmimport extism:host/user notify_tool_list_changed
func notifyToolListChanged()

//go:wasmimport extism:host/user notify_url_elicitation_completed
func notifyURLElicitationCompleted(uint64)

type object = map[string]any

//go:wasmexport list_tools
func listTools() int32 {
	var in struct {
		Context struct {
			ID   string `json:"id"`
			Meta object `json:"_meta"`
		} `json:"context"`
	}
	if err := pdk.InputJSON(&in); err != nil || in.Context.Meta == nil {
		pdk.SetErrorString("no context")
		return -1
	}
	empty := object{"type": "object"}
	return answer(object{"tools": []object{
		{"name": "draw", "title": "Draw", "inputSchema": empty,
			"annotations": object{"readOnlyHint": true}},
		{"name": "weigh", "inputSchema": empty, "annotations": object{"idempotentHint": true},
			"outputSchema": object{"type": "object", "required": []string{"grams"},
				"properties": object{"grams": object{"type": "integer"}}}},
		{"name": "fails", "inputSchema": empty, "annotations": object{"destructiveHint": false}},
		{"name": "tells", "inputSchema": empty},
		{"name": "asks", "inputSchema": empty},
		{"name": "context", "inputSchema": empty},
	}})
}

//go:wasmexport call_tool
func callTool() int32 {
	var in struct {
		Request struct {
			Name      string `json:"name"`
			Arguments object `json:"arguments"`
		} `json:"request"`
		Context json.RawMessage `json:"context"`
	}
	if err := pdk.InputJSON(&in); err != nil {
		pdk.SetError(err)
		return -1
	}
	switch in.Request.Name {
	case "draw":
		return answer(object{"content": []object{
			{"type": "text", "text": "look", "annotations": object{"priority": 0.5}},
			{"type": "image", "data": []byte("png"), "mimeType": "image/png"},
			{"type": "audio", "data": []byte("beep"), "mimeType": "audio/wav"},
			{"type": "resource", "resource": object{"uri": "a://b", "text": "hi"}},
			{"type": "resource", "resource": object{"uri": "a://c", "blob": []byte{0}}},
			{"type": "resource_link", "name": "x", "uri": "https://x.example/"},
			{"type": "hologram", "beams": 3},
		}, "structuredContent": object{"width": 2}})
	case "weigh":
		return answer(object{"content": []object{{"type": "text", "text": `{"grams": 9007199254740993}`}},
			"structuredContent": json.RawMessage(`{"grams": 9007199254740993}`)})
	case "fails":
		return answer(object{"isError": true, "structuredContent": object{"free": 0},
			"content": []object{{"type": "text", "text": "the disk"}, {"type": "text", "text": "is full"}}})
	case "tells":
		tells()
		return text("told")
	case "asks":
		return text(asks())
	}
	return text(string(in.Context))
}

// tells notifies of all there is.
func tells() {
	notifyLoggingMessage(give(object{"level": "warning", "logger": "disk", "data": "nearly full"}))
	notifyLoggingMessage(give(object{"level": "debug", "data": object{"free": 1}}))
	raw := pdk.AllocateString("no JSON")
	notifyLoggingMessage(raw.Offset())
	notifyProgress(give(object{"progressToken": "t", "progress": 1, "total": 2, "message": "one\nhalf"}))
	notifyProgress(give(object{"progressToken": "t", "progress": -1}))
	notifyProgress(give(object{"progressToken": "t", "progress": "far"}))
	notifyProgress(0)
	notifyPromptListChanged()
	notifyResourceListChanged()
	notifyToolListChanged()
	notifyResourceUpdated(give(object{"uri": "a://b"}))
	notifyURLElicitationCompleted(give(object{"elicitationId": "1"}))
}

// asks asks for all there is and gives the answers, one a line.
func asks() string {
	lines := ""
	for _, offset := range []uint64{
		createElicitation(give(object{"mode": "form", "message": "sure?"})),
		createMessage(give(object{"messages": []object{}, "maxTokens": 1})),
		getAccessToken(give(object{"client_id": "c"})),
		listRoots(),
		getKeyringSecret(give(object{"service": "api", "user": "me"})),
		getKeyringSecret(give(object{"service": "api", "user": "root"})),
		getKeyringSecret(0),
	} {
		answer := pdk.FindMemory(offset)
		lines += string(answer.ReadBytes()) + "\n"
	}
	return lines
}

func give(v any) uint64 {
	memory, err := pdk.AllocateJSON(v)
	if err != nil {
		panic(err)
	}
	return memory.Offset()
}

func text(s string) int32 {
	return answer(object{"content": []object{{"type": "text", "text": s}}})
}

func answer(v any) int32 {
	if err := pdk.OutputJSON(v); err != nil {
		pdk.SetError(err)
		return -1
	}
	return 0
}

//go:wasmexport list_prompts
func listPrompts() int32 { return answer(object{"prompts": []object{}}) }

//go:wasmexport read_resource
func readResource() int32 { return answer(object{"contents": []object{}}) }

func main() {}
