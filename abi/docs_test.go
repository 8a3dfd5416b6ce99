package abi_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
)

// The bytes that docs/abi.md shows are those that the kit and the host write.
func TestBytesInDocs(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "docs", "abi.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := strings.ReplaceAll(string(b), "\n          ", "")
	manifest := abi.AppendManifest(nil, &abi.Manifest{
		Name: "hello", Version: "1.0.0", ABI: abi.Version,
		Tools: []abi.ToolSpec{{Name: "hi", Description: "Greets.",
			InputSchema: `{"type":"object"}`, Effect: abi.EffectRead}},
	})
	input := abi.AppendString(abi.AppendString(abi.AppendMapHeader(nil, 1), "name"), "Ada")
	for name, b := range map[string][]byte{
		"manifest": manifest,
		"request": abi.AppendRequest(nil, &abi.Request{
			Tool: "hi", CallID: "1", Attempt: 1, DeadlineMS: 30_000, Input: input}),
		"reply": abi.AppendReply(nil, &abi.Reply{
			Outcome: abi.OutcomeOK, Value: abi.AppendString(nil, "Hello, Ada!")}),
	} {
		line := name + strings.Repeat(" ", 10-len(name)) + hex.EncodeToString(b) + "\n"
		if !strings.Contains(page, line) {
			t.Errorf("docs/abi.md does not have the line %q", line)
		}
	}
}
