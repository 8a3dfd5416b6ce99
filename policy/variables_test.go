package policy

import (
	"slices"
	"testing"
)

func TestVariables(t *testing.T) {
	w := newWorld(t)
	w.write(`
[plugins.mail]
http = [{ host = "example.org" }]
secrets = [
  { name = "a", from = "env:MAIL_TOKEN", as = "bearer", hosts = ["example.org"] },
  { name = "b", from = "file:/etc/mail", as = "header X-Key", hosts = ["example.org"] },
]
[plugins.elsewhere]
http = [{ host = "example.org" }]
secrets = [{ name = "a", from = "env:ELSEWHERE", as = "bearer", hosts = ["example.org"] }]
[servers.web]
url = "https://example.org/mcp"
headers = { X-Key = { from = "env:WEB_KEY" }, X-Text = "env:NOT_THIS" }
bearer = "env:MAIL_TOKEN"
[servers.files]
command = "/bin/files"
env = { A = { from = "env:FILES_KEY" }, B = { from = "cmd:/bin/key" } }
`)
	have := w.open().Variables(func(plugin string) bool { return plugin == "mail" })
	if want := []string{"FILES_KEY", "MAIL_TOKEN", "WEB_KEY"}; !slices.Equal(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
}
