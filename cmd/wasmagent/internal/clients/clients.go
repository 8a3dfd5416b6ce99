package clients

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// Entry is a server that a client is to start.
type Entry struct {
	Name    string // among the client's servers; see CheckName
	Command string // absolute
	Args    []string
	Env     map[string]string // besides what the client gives it
	// Variables are those that the client has to have and to pass on. An entry names them, and
	// never has their values.
	Variables []string
	// Flags are those that Args can have, and whether each takes a value. What the args of an entry
	// that starts the same have besides is its owner's.
	Flags map[string]bool
}

var entryName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// CheckName tells why an entry cannot have this name.
func CheckName(name string) error {
	if entryName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%q cannot be a server's name: want up to 64 letters, digits, - and _", name)
}

// Client is a program that starts MCP servers.
type Client struct {
	Name   string // as it is typed
	Title  string // as people call it
	Format string // json or toml

	user, project func(m *Machine) string // its files; project may be nil
	path          []string                // of the object that has an entry for each server
	comments      bool                    // it reads comments and trailing commas in JSON
	entry         func(e *Entry, env map[string]string) any
	variable      string // the form of a value that is a variable of the client's own; "" is none
}

// Forwards tells whether the client passes variables of its own on to a server. The entry of one
// that does not has them empty, and their values have to be written into it.
func (c *Client) Forwards() bool { return c.Format == "toml" || c.variable != "" }

// all are the clients, by name.
var all = []*Client{
	{
		Name: "claude-code", Title: "Claude Code", Format: "json",
		user: func(m *Machine) string {
			return filepath.Join(m.env("CLAUDE_CONFIG_DIR", m.Home), ".claude.json")
		},
		project: inProject(".mcp.json"), path: []string{"mcpServers"}, entry: typed,
		variable: "${%s:-}", // without a default, one that is not set stays as it is written
	},
	{
		Name: "claude-desktop", Title: "Claude Desktop", Format: "json",
		user: func(m *Machine) string {
			return filepath.Join(m.appData(), "Claude", "claude_desktop_config.json")
		},
		path: []string{"mcpServers"}, entry: plain,
	},
	{
		Name: "codex", Title: "Codex", Format: "toml",
		user: func(m *Machine) string {
			return filepath.Join(m.env("CODEX_HOME", filepath.Join(m.Home, ".codex")), "config.toml")
		},
		project: inProject(".codex/config.toml"), path: []string{"mcp_servers"},
	},
	{
		Name: "cursor", Title: "Cursor", Format: "json",
		user:    func(m *Machine) string { return filepath.Join(m.Home, ".cursor", "mcp.json") },
		project: inProject(".cursor/mcp.json"), path: []string{"mcpServers"}, entry: plain,
		comments: true, variable: "${env:%s}",
	},
	{
		Name: "opencode", Title: "OpenCode", Format: "json",
		user: func(m *Machine) string {
			config := m.env("XDG_CONFIG_HOME", filepath.Join(m.Home, ".config"))
			return commented(filepath.Join(config, "opencode", "opencode.json"))
		},
		project: func(m *Machine) string { return commented(filepath.Join(m.Dir, "opencode.json")) },
		path:    []string{"mcp"}, entry: local, comments: true, variable: "{env:%s}",
	},
	{
		Name: "vscode", Title: "VS Code", Format: "json",
		user: func(m *Machine) string {
			return filepath.Join(m.appData(), "Code", "User", "mcp.json")
		},
		project: inProject(".vscode/mcp.json"), path: []string{"servers"}, entry: typed,
		comments: true, variable: "${env:%s}",
	},
}

// Names lists the clients, sorted.
func Names() []string {
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.Name
	}
	return names
}

// Find gives the client of a name, or nil.
func Find(name string) *Client {
	i := slices.IndexFunc(all, func(c *Client) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return all[i]
}

// Machine is what decides where a client's files are.
type Machine struct {
	OS     string // as in GOOS
	Home   string // the user's
	Dir    string // of the project
	Getenv func(string) string
}

// File is where the client looks for servers: those of the user, or those of the project. It need
// not be there.
func (c *Client) File(m *Machine, project bool) (string, error) {
	if !project {
		return c.user(m), nil
	}
	if c.project == nil {
		return "", fmt.Errorf("%s knows no servers of a project", c.Title)
	}
	return c.project(m), nil
}

// env is a directory that a variable names, or another one.
func (m *Machine) env(name, other string) string {
	if dir := m.Getenv(name); dir != "" {
		return dir
	}
	return other
}

// appData is where programs keep the user's settings by the system's convention.
func (m *Machine) appData() string {
	switch m.OS {
	case "darwin":
		return filepath.Join(m.Home, "Library", "Application Support")
	case "windows":
		return m.env("APPDATA", filepath.Join(m.Home, "AppData", "Roaming"))
	}
	return m.env("XDG_CONFIG_HOME", filepath.Join(m.Home, ".config"))
}

func inProject(file string) func(*Machine) string {
	return func(m *Machine) string { return filepath.Join(m.Dir, filepath.FromSlash(file)) }
}

// commented is the file's name for JSON with comments, if that is there.
func commented(file string) string {
	if _, err := os.Stat(file + "c"); !errors.Is(err, fs.ErrNotExist) {
		return file + "c"
	}
	return file
}
