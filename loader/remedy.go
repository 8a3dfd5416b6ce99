package loader

import (
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
)

// NotAllowed makes the error of a plugin that needs what is not granted or, without needs,
// approval.
func NotAllowed(p *Plugin, needs []string) *NotAllowedError {
	words := make([]string, len(needs))
	for i, need := range needs {
		words[i] = need
		if host, ok := strings.CutPrefix(need, "http "); ok {
			// What is missing may be a method, and not the host.
			words[i] = "http " + httpWord(host, &p.Manifest.Needs)
		}
	}
	return &NotAllowedError{
		words: words, Plugin: p.Name, Path: p.Path, Needs: needs, Approval: len(needs) == 0,
		Allow: allowCommand(p.Name, needs, &p.Manifest.Needs),
	}
}

// allowCommand is what an operator would type to grant what is missing. Needs are a stranger's
// words, so each is quoted.
func allowCommand(plugin string, missing []string, n *abi.Needs) string {
	words := []string{"wasmagent allow", quoteWord(plugin)}
	for _, need := range missing {
		kind, what, _ := strings.Cut(need, " ")
		switch kind {
		case "http":
			words = append(words, "--http", quoteWord(httpWord(what, n)))
		case "kv":
			words = append(words, "--kv")
		case "files":
			words = append(words, "--mount", quoteWord(mountWord(what)))
		case "env":
			words = append(words, "--env", quoteWord(what+"=VALUE"))
		case "config":
			words = append(words, "--set", quoteWord(what+"=VALUE"))
		case "secret":
			words = append(words, "--secret", quoteWord(what+"=env:VARIABLE@HOST"))
		}
	}
	return strings.Join(words, " ")
}

// httpWord is a host with the methods that are wanted of it, where those are not the usual ones.
func httpWord(host string, n *abi.Needs) string {
	if host == "" {
		return "HOST" // only the plugin's imports tell that it wants some
	}
	i := slices.IndexFunc(n.HTTP, func(h abi.HTTPNeed) bool { return h.Host == host })
	if i < 0 || len(n.HTTP[i].Methods) == 0 {
		return host
	}
	methods := n.HTTP[i].Methods
	if !slices.ContainsFunc(methods, func(m string) bool { return m != "GET" && m != "HEAD" }) {
		return host
	}
	return strings.Join(methods, ",") + " " + host
}

// mountWord is a directory of the operator's choice at the guest's path.
func mountWord(need string) string {
	cut := strings.LastIndexByte(need, ' ') // a path may have spaces of its own
	if cut < 0 {
		return "DIRECTORY:" + need
	}
	guest, mode := need[:cut], need[cut+1:]
	if mode == "rw" {
		return "DIRECTORY:" + guest + ":rw"
	}
	return "DIRECTORY:" + guest
}

// quoteWord quotes a word for a POSIX shell, where it must be.
func quoteWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("/._-:=@%+,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
