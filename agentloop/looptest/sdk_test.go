package looptest_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/agentloop/looptest"
	"github.com/wasmagent/wasmagent/agentloop/message"
)

// folder has the program that talks to the servers, and says which SDKs it needs.
const folder = "../../.ci/js"

// sdks is where .ci/run installs the SDKs: next to each other, by what they are.
func sdks(t *testing.T) string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(folder, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	return filepath.Join(cache, "wasmagent", fmt.Sprintf("js-%.6x", sha256.Sum256(lock)))
}

// said is what a check expects to hear in the end.
type said struct {
	Text      string         `json:"text"`
	Reasoning string         `json:"reasoning"`
	Calls     []message.Call `json:"calls"`
	Usage     message.Usage  `json:"usage"`
}

// TestOfficialSDKs has the vendors' own SDKs talk to the server, so that it speaks their protocol
// and not what we take for it.
func TestOfficialSDKs(t *testing.T) {
	modules := sdks(t)
	missing := ""
	if _, err := exec.LookPath("node"); err != nil {
		missing = "Node.js is not installed"
	} else if _, err := os.Stat(filepath.Join(modules, "node_modules", "openai")); err != nil {
		missing = "the SDKs are not installed; .ci/run installs them"
	}
	if missing != "" && os.Getenv("CI") == "true" {
		t.Fatal(missing)
	} else if missing != "" {
		t.Skip("NO OFFICIAL SDK HAS TRIED THE SERVER: " + missing)
	}
	servers, asked := sdkServers(t)
	input, err := json.Marshal(servers)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(folder, "check.mjs"), modules)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.CombinedOutput()
	passed := fmt.Sprintf("%d passed, 0 failed\n", len(servers))
	if err != nil || !strings.HasSuffix(string(out), passed) {
		t.Errorf("%v\n%s", err, out)
	}
	for name, server := range asked {
		if have, want := len(server.Asked()), sdkAnswers(name); have != len(want) {
			t.Errorf("%s: asked %d times, want %d", name, have, len(want))
		}
	}
}

type sdkServer struct {
	URL  string `json:"url"`
	Said said   `json:"said"`
}

func sdkServers(t *testing.T) (map[string]sdkServer, map[string]*looptest.Server) {
	servers, running := map[string]sdkServer{}, map[string]*looptest.Server{}
	for _, sdk := range []string{"openai", "responses", "anthropic"} {
		for _, what := range []string{"whole", "streamed", "tools", "refused", "retried", "broken"} {
			name := sdk + " " + what
			answers := sdkAnswers(name)
			last := answers[len(answers)-1]
			running[name] = looptest.NewServer(t, answers...)
			servers[name] = sdkServer{running[name].URL,
				said{last.Text, last.Reasoning, last.Calls, last.Usage}}
		}
	}
	return servers, running
}

func sdkAnswers(name string) []looptest.Answer {
	calls := looptest.Answer{Text: "I’ll look.", Reasoning: "Both at once.",
		Usage: message.Usage{Input: 120, Output: 30, Cached: 100},
		Calls: []message.Call{{ID: "call_1", Name: "weather", Arguments: `{"city":"Oslo"}`},
			{ID: "call_2", Name: "weather", Arguments: `{"city":"Rome"}`}}}
	end := looptest.Answer{Text: "It is cold."}
	sdk, what, _ := strings.Cut(name, " ")
	switch what {
	case "tools":
		return []looptest.Answer{calls, end}
	case "refused":
		return []looptest.Answer{{Status: 404, Text: "no such model"}}
	case "retried":
		status := map[string]int{"openai": 503, "responses": 503, "anthropic": 529}[sdk]
		return []looptest.Answer{{Status: status, Text: "busy",
			Header: map[string]string{"Retry-After-Ms": "1"}}, end}
	case "broken":
		return []looptest.Answer{{Text: "It is", Break: "too busy"}}
	}
	return []looptest.Answer{calls}
}
