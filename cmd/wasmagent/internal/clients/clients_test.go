package clients

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/rogpeppe/go-internal/txtar"
)

func sample() *Entry {
	return &Entry{Name: "wasmagent", Command: "/bin/wasmagent", Args: []string{"mcp", "-p", "/plugins"},
		Flags: map[string]bool{"-p": true, "--watch": false}}
}

// withVariables is a sample that the client has to give variables.
func withVariables() *Entry {
	e := sample()
	e.Env, e.Variables = map[string]string{"XDG_STATE_HOME": "/state"}, []string{"KEY", "TOKEN"}
	return e
}

// TestMerge carries out the cases of testdata/merge. The first line of each names the client, with
// "replace" behind it if an entry of the same name may be replaced, and "variables" if the client has
// to give some; "have" is the file as it was, "want" as it is to be, or "refused" why it stays. With
// "crlf" its lines end so. UPDATE_CASES writes what came out into the cases.
func TestMerge(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "merge", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { mergeCase(t, file) })
	}
}

func mergeCase(t *testing.T, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(a.Comment), "\n")
	words := strings.Fields(first)
	crlf := strings.Contains(first, "crlf")
	have, want := string(a.Files[0].Data), string(a.Files[1].Data)
	if crlf {
		have = strings.ReplaceAll(have, "\n", "\r\n")
	}
	c, e := Find(words[0]), sample()
	if strings.Contains(first, "variables") {
		e = withVariables()
	}
	dir := t.TempDir()
	target := filepath.Join(dir, "settings")
	if err := os.WriteFile(target, []byte(have), 0o640); err != nil {
		t.Fatal(err)
	}
	change, err := c.Install(target, e, &Options{Replace: strings.Contains(first, "replace")})
	b, rerr := os.ReadFile(target)
	if rerr != nil {
		t.Fatal(rerr)
	}
	got := string(b)
	if crlf {
		if strings.Count(got, "\n") != strings.Count(got, "\r\n") {
			t.Errorf("line ends are mixed: %q", got)
		}
		got = strings.ReplaceAll(got, "\r\n", "\n")
	}
	if a.Files[1].Name == "refused" {
		if refused, ok := errors.AsType[*RefusedError](err); !ok {
			t.Fatalf("not refused: %v, %+v\n%s", err, change, got)
		} else if text := refused.Err.Error() + "\n"; text != want && os.Getenv("UPDATE_CASES") == "" {
			t.Errorf("have %s want %s", text, want)
		} else {
			got = text
		}
		if string(b) != have {
			t.Errorf("it was changed to %s", b)
		}
	} else if err != nil {
		t.Fatal(err)
	} else if got != want && os.Getenv("UPDATE_CASES") == "" {
		t.Errorf("have\n%s\nwant\n%s", got, want)
	}
	if a.Files[1].Data = []byte(got); os.Getenv("UPDATE_CASES") != "" {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err == nil {
		checkInstalled(t, c, e, target, have, change)
	}
}

// checkInstalled checks what is true of every file that was written: it was copied before, keeps its
// mode, and to install again changes nothing.
func checkInstalled(t *testing.T, c *Client, e *Entry, target, have string, change Change) {
	t.Helper()
	if change.Did != Unchanged {
		if b, err := os.ReadFile(change.Backup); err != nil || string(b) != have {
			t.Errorf("the copy: %v, %s", err, b)
		}
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v now, %v", info.Mode(), err)
	}
	was, _ := os.ReadFile(target)
	again, err := c.Install(target, e, nil)
	if err != nil || again.Did != Unchanged || again.Backup != "" {
		t.Errorf("again: %+v, %v", again, err)
	}
	if is, _ := os.ReadFile(target); string(is) != string(was) {
		t.Errorf("again it became %s", is)
	}
	if rest, _ := filepath.Glob(target + "*"); len(rest) > 2 {
		t.Errorf("left over: %v", rest)
	}
}

// Every client's snippet can be read by what reads its file, and has the command and its arguments,
// whatever is in them.
func TestSnippet(t *testing.T) {
	hard := []string{"mcp", "-p", `/a b/"c"\d`, "é\u2028<&>", "\x7f\t"}
	for _, name := range Names() {
		e := &Entry{Name: "w-1", Command: `C:\Program Files\w.exe`, Args: hard,
			Env: map[string]string{"A": `1"`, "B": "x=y"}}
		c := Find(name)
		var doc map[string]any
		read := func(b []byte, v any) error { return json.Unmarshal(b, v) }
		if c.Format == "toml" {
			read = toml.Unmarshal
		}
		if err := read([]byte(c.Snippet(e)), &doc); err != nil {
			t.Errorf("%s: %v\n%s", name, err, c.Snippet(e))
			continue
		}
		entry := doc[c.path[0]].(map[string]any)["w-1"].(map[string]any)
		var line []any
		for _, arg := range hard {
			line = append(line, arg)
		}
		env, command, args := "env", any(e.Command), any(line)
		if name == "opencode" {
			env, command, args = "environment", append([]any{e.Command}, line...), nil
		}
		if !reflect.DeepEqual(entry["command"], command) || !reflect.DeepEqual(entry["args"], args) ||
			!reflect.DeepEqual(entry[env], map[string]any{"A": `1"`, "B": "x=y"}) {
			t.Errorf("%s: %v", name, entry)
		}
		// A file that is not there becomes the snippet.
		file := filepath.Join(t.TempDir(), "new", "file")
		change, err := c.Install(file, e, nil)
		if b, _ := os.ReadFile(file); err != nil || change != (Change{File: file, Did: Added}) ||
			string(b) != c.Snippet(e) {
			t.Errorf("%s: a new file: %+v, %v\n%s", name, change, err, b)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: a new file has the mode %v, %v", name, info.Mode(), err)
		}
	}
}

func TestFile(t *testing.T) {
	home := filepath.FromSlash("/home/u")
	for _, c := range []struct {
		client, os string
		env        map[string]string
		project    bool
		want       string
	}{
		{"claude-desktop", "darwin", nil, false,
			"/home/u/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", map[string]string{"APPDATA": "/data"}, false,
			"/data/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", nil, false,
			"/home/u/AppData/Roaming/Claude/claude_desktop_config.json"},
		{"claude-desktop", "linux", nil, false, "/home/u/.config/Claude/claude_desktop_config.json"},
		{"claude-code", "linux", nil, false, "/home/u/.claude.json"},
		{"claude-code", "darwin", map[string]string{"CLAUDE_CONFIG_DIR": "/c"}, false, "/c/.claude.json"},
		{"claude-code", "linux", nil, true, "/work/.mcp.json"},
		{"vscode", "linux", map[string]string{"XDG_CONFIG_HOME": "/x"}, false, "/x/Code/User/mcp.json"},
		{"vscode", "darwin", nil, false, "/home/u/Library/Application Support/Code/User/mcp.json"},
		{"vscode", "linux", nil, true, "/work/.vscode/mcp.json"},
		{"cursor", "linux", nil, false, "/home/u/.cursor/mcp.json"},
		{"cursor", "windows", nil, true, "/work/.cursor/mcp.json"},
		{"codex", "linux", nil, false, "/home/u/.codex/config.toml"},
		{"codex", "linux", map[string]string{"CODEX_HOME": "/cx"}, false, "/cx/config.toml"},
		{"codex", "linux", nil, true, "/work/.codex/config.toml"},
		{"opencode", "darwin", nil, false, "/home/u/.config/opencode/opencode.json"},
		{"opencode", "linux", map[string]string{"XDG_CONFIG_HOME": "/x"}, false,
			"/x/opencode/opencode.json"},
		{"opencode", "linux", nil, true, "/work/opencode.json"},
	} {
		m := &Machine{OS: c.os, Home: home, Dir: filepath.FromSlash("/work"),
			Getenv: func(name string) string { return c.env[name] }}
		got, err := Find(c.client).File(m, c.project)
		if err != nil || got != filepath.FromSlash(c.want) {
			t.Errorf("%+v: have %s, %v", c, got, err)
		}
	}
	if _, err := Find("claude-desktop").File(&Machine{}, true); err == nil {
		t.Error("Claude Desktop has the settings of a project")
	}
	if Find("") != nil || Find("zed") != nil {
		t.Error("unknown clients are found")
	}
}

// OpenCode reads either of two files: the one that is there.
func TestCommented(t *testing.T) {
	dir := t.TempDir()
	m := &Machine{Dir: dir, Getenv: func(string) string { return "" }}
	if err := os.WriteFile(filepath.Join(dir, "opencode.jsonc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, _ := Find("opencode").File(m, true); filepath.Base(got) != "opencode.jsonc" {
		t.Errorf("have %s", got)
	}
}

func TestCheckName(t *testing.T) {
	for name, good := range map[string]bool{
		"wasmagent": true, "a-B_9": true, strings.Repeat("a", 64): true,
		"": false, "a.b": false, `a"`: false, "é": false, strings.Repeat("a", 65): false,
	} {
		if err := CheckName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A look changes nothing.
func TestDryRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a", "b")
	change, err := Find("cursor").Install(file, sample(), &Options{DryRun: true})
	if err != nil || change != (Change{File: file, Did: Added}) {
		t.Errorf("%+v, %v", change, err)
	}
	if _, err := os.Lstat(filepath.Dir(file)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was made: %v", err)
	}
}

// Settings that are kept elsewhere, with a link to them, stay there.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	kept, link, lost := filepath.Join(dir, "kept"), filepath.Join(dir, "link"), filepath.Join(dir, "lost")
	if err := os.WriteFile(kept, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{link: kept, lost: filepath.Join(dir, "nowhere")} {
		if err := os.Symlink(to, from); err != nil {
			t.Skip(err)
		}
	}
	change, err := Find("cursor").Install(link, sample(), nil)
	real, _ := filepath.EvalSymlinks(kept)
	if err != nil || change.File != real {
		t.Errorf("%+v, %v", change, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	for _, file := range []string{lost, dir} {
		_, err = Find("cursor").Install(file, sample(), nil)
		if _, ok := errors.AsType[*RefusedError](err); !ok {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// A file of the limit's size is read, one past it is not.
func TestLimits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, size := range []int{MaxFile, MaxFile + 1} {
		write(strings.Repeat(" ", size))
		if _, _, _, err := read(file); (err != nil) != (size > MaxFile) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// However often a file is changed, there is one copy beside it: of what it was before the last
// change, for the eyes that the file is for. Other copies are not ours to write over.
func TestBackup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings")
	if err := os.WriteFile(file+".bak", []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	for i, mode := range []fs.FileMode{0o666, 0o600, 0o644} { // whatever the umask
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		was, _ := os.ReadFile(file)
		e := sample()
		e.Args = append(e.Args, strings.Repeat("x", i))
		change, err := Find("cursor").Install(file, e, &Options{Replace: true})
		if err != nil || change.Backup != file+".wasmagent.bak" {
			t.Fatalf("%+v, %v", change, err)
		}
		copied, err := os.ReadFile(change.Backup)
		if err != nil || string(copied) != string(was) {
			t.Errorf("the copy is %s, not %s; %v", copied, was, err)
		}
		if info, err := os.Stat(change.Backup); err != nil || info.Mode().Perm()&^mode != 0 {
			t.Errorf("the copy of %v has %v, %v", mode, info.Mode(), err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%v became %v, %v", mode, info.Mode(), err)
		}
	}
	if b, _ := os.ReadFile(file + ".bak"); string(b) != "mine" {
		t.Errorf("another copy is %s now", b)
	}
	if all, _ := filepath.Glob(file + "*"); len(all) != 3 {
		t.Errorf("there are %v", all)
	}
}

// A project's links choose nothing outside it, whether the file is there or not, and its own ones do.
func TestWithin(t *testing.T) {
	root := t.TempDir()
	project, outside := filepath.Join(root, "project"), filepath.Join(root, "outside")
	for _, dir := range []string{project, outside, filepath.Join(project, "real")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(outside, "file"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{
		"file": filepath.Join(outside, "file"), "dir": outside, "up": "..", "own": "real",
		"lost": filepath.Join(outside, "nowhere"),
	} {
		if err := os.Symlink(to, filepath.Join(project, from)); err != nil {
			t.Skip(err)
		}
	}
	for file, want := range map[string]string{
		"new": "", "deep/new/file": "", "own/file": "",
		"file": "leads out of the project", "dir/file": "leads out of the project",
		"dir/new/file": "leads out of the project", "up/outside/file": "leads out of the project",
		"lost": "a link to what is not there", "lost/file": "a link to what is not there",
	} {
		_, err := Find("cursor").Install(filepath.Join(project, file), sample(),
			&Options{Within: project})
		_, refused := errors.AsType[*RefusedError](err)
		if want == "" && err != nil || want != "" && (!refused || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if b, _ := os.ReadFile(filepath.Join(outside, "file")); string(b) != "{}" {
		t.Errorf("it was written: %s", b)
	}
	if all, _ := os.ReadDir(outside); len(all) != 1 {
		t.Errorf("something was made: %v", all)
	}
}

// An entry names the variables that the client has to give, in the client's own way, and never has a
// value of them.
func TestVariables(t *testing.T) {
	t.Setenv("TOKEN", "a secret of the test")
	for name, want := range map[string]string{
		"claude-code": `"TOKEN": "${TOKEN:-}"`, "claude-desktop": `"TOKEN": ""`,
		"codex": `env_vars = ["KEY", "TOKEN"]`, "cursor": `"TOKEN": "${env:TOKEN}"`,
		"opencode": `"TOKEN": "{env:TOKEN}"`, "vscode": `"TOKEN": "${env:TOKEN}"`,
	} {
		c := Find(name)
		snippet := c.Snippet(withVariables())
		if !strings.Contains(snippet, want) || strings.Contains(snippet, "a secret") {
			t.Errorf("%s: %s", name, snippet)
		}
		if c.Forwards() != (name != "claude-desktop") {
			t.Errorf("%s: Forwards is %v", name, c.Forwards())
		}
	}
}

// FuzzJSON pins that no file is damaged: what is written means what it meant and the entry besides.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"servers":{}}`, "{\n\t\"a\": 1, // b\n}", `{"servers":{"x":1,},}`,
		"\ufeff{ }\r\n", `{"servers":{"wasmagent":{}}}`, "/**/{/*x*/}//", `[]`, `{"a":1,"a":2}`,
		`{"servers":{"wasmagent":{"command":"wasmagent","args":["mcp"],"env":{"A":1,},/**/}}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := Find("vscode")
		edited, did, _, err := c.mergeJSON(text, withVariables(), true)
		if err != nil || did == Unchanged {
			return
		}
		again, did, _, err := c.mergeJSON(edited, withVariables(), false)
		if err != nil || did != Unchanged || again != edited {
			t.Errorf("%q became %q: %v, %v", text, edited, did, err)
		}
	})
}

// FuzzTOML is FuzzJSON for the other form.
func FuzzTOML(f *testing.F) {
	for _, seed := range []string{"", "a = 1", "[mcp_servers.wasmagent]\ncommand = 1\n[x]\n",
		"[mcp_servers]\nwasmagent = {}\n",
		"[mcp_servers.wasmagent]\ncommand = 'wasmagent'\nargs = [\n'mcp']\nenv = {A = '1'}\n",
		"s = '''\n[mcp_servers.wasmagent]\n'''\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<10 {
			t.Skip("the library's time grows with the square")
		}
		c := Find("codex")
		edited, did, _, err := c.mergeTOML(text, withVariables(), true)
		if err != nil || did == Unchanged {
			return
		}
		again, did, _, err := c.mergeTOML(edited, withVariables(), false)
		if err != nil || did != Unchanged || again != edited {
			t.Errorf("%q became %q: %v, %v", text, edited, did, err)
		}
	})
}
