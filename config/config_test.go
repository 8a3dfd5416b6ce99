package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/wasmagent/wasmagent/agentloop/tokens"
)

// Every key goes into its own field.
func TestFields(t *testing.T) {
	a, err := txtar.ParseFile("testdata/load/all_user.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := options(t, dir)
	write(t, o.File, string(a.Files[0].Data))
	have, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Core: Core{System: "Be brief.", Approvals: "untrusted", ParallelToolCalls: true,
			MaxIterations: 10, OutputCap: 1 << 20, Sessions: filepath.Join(dir, "my/sessions")},
		Provider: Provider{Kind: "openai", Model: "large", Models: []string{"large", "small"},
			Script: "/srv/steps.toml", BaseURL: "https://models.example.org/v1?key=secret",
			KeyEnv: "EXAMPLE_KEY", MaxTokens: 4096, Headers: map[string]string{"X-Team": "secret"},
			Prices:        map[string]*Price{"large": {Input: 3, Output: 15.5, Cached: 0.3}},
			ContextLimits: map[string]int{"vendor/large:1.0": 1_048_576}},
		Budgets: Budgets{Steps: 100, Tokens: 2_000_000, Dollars: 1.5, WallTime: 90 * time.Minute},
		Tools: Tools{Allow: []string{"search_*", "jq"}, Deny: []string{"search_delete"},
			Approvals: map[string]string{"jq": "allow", "search_web": "ask"}},
		Capabilities: Capabilities{
			Subagents: Subagents{MaxConcurrent: 1, BackgroundPrompts: "parent", Agents: map[string]*Agent{
				"reader": {Prompt: "You read.", Tools: []string{"jq"}, Model: "small"}}},
			ToolsBackground: ToolsBackground{Enabled: true, MaxConcurrent: 2},
		},
		values: have.values,
	}
	if !reflect.DeepEqual(have, want) {
		t.Errorf("have %+v\nwant %+v", have, want)
	}
	for i := range keys {
		if len(have.values.of(&keys[i])) == 0 {
			t.Errorf("the case all_user does not set %s", keys[i].name)
		}
	}
}

func TestDefaults(t *testing.T) {
	c, err := Load(options(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Core: Core{Approvals: "on_request", MaxIterations: 50, OutputCap: 48 << 10,
			Sessions: defaultSessions()},
		Capabilities: Capabilities{Subagents: Subagents{MaxDepth: 3, MaxConcurrent: 4},
			ToolsBackground: ToolsBackground{MaxConcurrent: 4}},
		values: c.values,
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("have %+v\nwant %+v", c, want)
	}
	if limit := (tokens.Limits{}).Of("x"); limit != DefaultContextLimit {
		t.Errorf("a model's context limit is %d without a table, and here %d", limit, DefaultContextLimit)
	}
	for _, s := range c.Effective() {
		if s.Value == "" || len(s.From) != 1 || s.From[0].Kind != FromDefault {
			t.Errorf("%+v", s)
		}
	}
}

// The page tells of every key what it is without a file, and what a project may do with it.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	may := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		name := strings.Trim(cells[1], " `")
		pattern := strings.ReplaceAll(name, "NAME", "*")
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == pattern })
		if i < 0 {
			t.Errorf("%s is documented, and there is no such key", name)
			continue
		}
		k := &keys[i]
		may[k.name] = true
		if project := strings.TrimSpace(cells[5]); (project == "no") != (k.project == nil) {
			t.Errorf("%s: a project may %q", name, project)
		}
		if initial := strings.Trim(cells[3], " `"); k.initial != nil && k.name != "core.sessions" &&
			initial != show(k.initial) {
			t.Errorf("%s: the default is %s, documented is %s", name, show(k.initial), initial)
		}
	}
	for i := range keys {
		if !may[keys[i].name] {
			t.Errorf("%s is not documented", keys[i].name)
		}
	}
}

func TestOffers(t *testing.T) {
	for _, tt := range []struct {
		allow, deny []string
		tool        string
		want        bool
	}{
		{nil, nil, "jq", true},
		{[]string{}, nil, "jq", false},
		{[]string{"jq"}, nil, "jq", true},
		{[]string{"jq"}, nil, "jqx", false},
		{[]string{"j*"}, nil, "jq", true},
		{[]string{"jq*"}, nil, "jq", true},
		{[]string{"*"}, nil, "jq", true},
		{nil, []string{"jq"}, "jq", false},
		{nil, []string{"j*"}, "jq", false},
		{[]string{"jq"}, []string{"*"}, "jq", false},
		{nil, []string{"x"}, "jq", true},
	} {
		tools := &Tools{Allow: tt.allow, Deny: tt.deny}
		if have := tools.Offers(tt.tool); have != tt.want {
			t.Errorf("%v without %v, %s: %v", tt.allow, tt.deny, tt.tool, have)
		}
	}
}

func TestCheckRun(t *testing.T) {
	const openai = "provider.kind = 'openai'\n"
	const script = "provider.kind = 'script'\n"
	for in, want := range map[string]string{
		"":                               "provider.kind: no provider is configured",
		openai:                           "provider.model: the provider openai needs a model",
		openai + "provider.model = 'm'":  "",
		script + "provider.model = 'm'":  "provider.script: the provider script needs a file",
		script + "provider.script = 'x'": "",
		script + "provider.script = 'x'\nbudgets.dollars = 1": "budgets.dollars: needs the prices of a " +
			"model, and the script stands for none",
		openai + "provider.model = 'm'\nbudgets.dollars = 1": "budgets.dollars: needs the prices of " +
			"the model: there is no provider.prices.m.input",
		openai + "provider.model = 'm'\nbudgets.dollars = 1\nprovider.prices.m.input = 1": "" +
			"budgets.dollars: needs the prices of the model: there is no provider.prices.m.output",
		openai + "provider.model = 'm'\nbudgets.dollars = 1\nprovider.prices.m.output = 1": "" +
			"budgets.dollars: needs the prices of the model: there is no provider.prices.m.input",
		openai + "provider.model = 'm'\nbudgets.dollars = 1\n" +
			"provider.prices.m = {input = 1, output = 1}": "",
		openai + "provider.model = 'm'\nbudgets.dollars = 1\n" +
			"provider.prices.m = {input = 1, output = 1}\nprovider.prices.n.input = 1\n" +
			"capabilities.subagents.enabled = true\n" +
			"capabilities.subagents.agents = {a = {prompt = 'x'}, b = {model = 'n'}}": "" +
			"capabilities.subagents.agents.b.model: a budget in dollars needs the prices of this model: " +
			"there is no provider.prices.n.output",
	} {
		o := options(t, t.TempDir())
		write(t, o.File, in)
		c, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		err = c.CheckRun()
		if have := errorText(err); have != want {
			t.Errorf("%q: have %q, want %q", in, have, want)
		}
		if errors.Is(err, ErrNoProvider) != (in == "") {
			t.Errorf("%q: %v matches ErrNoProvider", in, err)
		}
	}
}

// TestStrangeKeys pins that a stranger's key is shown in an error without what a terminal or a
// reader would take for something else, and not at any length.
func TestStrangeKeys(t *testing.T) {
	for in, want := range map[string]string{
		"\"\u009b31m\u202e\" = 1": `$FILE:1: "\u009b31m\u202e": there is no such key`,
		strings.Repeat("k", 60_000) + " = 1": "$FILE:1: " + strings.Repeat("k", maxWord) +
			"…: there is no such key",
		"\"\u202e\" = 1\n\"\u202e\" = 2": `$FILE:2: Key '"\u202e"' has already been defined.`,
	} {
		o := options(t, t.TempDir())
		file := filepath.Join(o.Dir, ProjectFile)
		write(t, file, in)
		_, err := Load(o)
		if have := strings.ReplaceAll(errorText(err), file, "$FILE"); have != want {
			t.Errorf("%.40q: have %.300q", in, have)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFileLimits(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir)
	project := filepath.Join(dir, ProjectFile)
	for file, most := range map[string]int{o.File: MaxUserFile, project: MaxProjectFile} {
		write(t, file, "#"+strings.Repeat("x", most-1))
		if _, err := Load(o); err != nil {
			t.Errorf("%s with %d bytes: %v", file, most, err)
		}
		write(t, file, "#"+strings.Repeat("x", most))
		_, err := Load(o)
		e := new(Error)
		if !errors.As(err, &e) || e.File != file || !strings.Contains(e.Detail, "more than") {
			t.Errorf("%s with a byte more: %v", file, err)
		}
		write(t, file, "# \xff")
		if _, err := Load(o); !strings.HasSuffix(errorText(err), "not UTF-8") {
			t.Errorf("%s: %v", file, err)
		}
		write(t, file, "")
	}
}

func TestFileKinds(t *testing.T) {
	dir := t.TempDir()
	o := options(t, dir)
	project := filepath.Join(dir, ProjectFile)
	if err := os.Symlink(o.File, project); err != nil {
		t.Skip(err)
	}
	if _, err := Load(o); errorText(err) != project+": not a regular file" {
		t.Errorf("a project's file that is a link: %v", err)
	}
	if err := errors.Join(os.Remove(project), os.Mkdir(project, 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(o); errorText(err) != project+": not a regular file" {
		t.Errorf("a project's file that is a directory: %v", err)
	}
	if err := os.Remove(project); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.toml")
	if err := os.Symlink(o.File, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(&Options{File: link, Dir: dir}); err != nil {
		t.Errorf("a user's file that is a link: %v", err)
	}
	if _, err := Load(&Options{File: dir, Dir: dir}); errorText(err) != dir+": not a regular file" {
		t.Errorf("a user's file that is a directory: %v", err)
	}
	missing := filepath.Join(dir, "missing.toml")
	_, err := Load(&Options{File: missing, Dir: dir})
	if !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), missing+": ") {
		t.Errorf("a named file that is not there: %v", err)
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	dir := t.TempDir()
	o := options(t, dir)
	project := filepath.Join(dir, ProjectFile)
	write(t, project, "")
	for mode, ok := range map[os.FileMode]bool{
		0o600: true, 0o644: true, 0o620: false, 0o602: false, 0o666: false,
	} {
		if err := errors.Join(os.Chmod(o.File, mode), os.Chmod(project, mode)); err != nil {
			t.Fatal(err)
		}
		_, err := Load(o)
		want := o.File + ": others can change this file: chmod go-w it"
		if (err == nil) != ok || !ok && err.Error() != want {
			t.Errorf("%o: %v", mode, err)
		}
	}
}

// Whoever names the project's file as his own trusts it.
func TestProjectFileAsUserFile(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ProjectFile)
	write(t, file, "core.system = 'x'")
	c, err := Load(&Options{File: file, Dir: dir})
	if err != nil || c.Core.System != "x" {
		t.Errorf("%+v (%v)", c, err)
	}
}

// A project's file counts in its own directory, and not in those below.
func TestProjectFileIsNotLookedForAbove(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, ProjectFile), "not TOML")
	below := filepath.Join(dir, "below")
	if err := os.Mkdir(below, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	o := options(t, below)
	o.Dir = ""
	if _, err := Load(o); err != nil {
		t.Error(err)
	}
	t.Chdir(dir)
	if _, err := Load(o); err == nil {
		t.Error("the file of the working directory was not read")
	}
}

func TestOverrideTypes(t *testing.T) {
	o := options(t, t.TempDir())
	o.Overrides = []Override{
		{"budgets.steps", 5, "--max-steps"}, {"tools.allow", []string{"jq"}, "--tool"},
		{"core.sessions", "here", "--sessions"}, {"budgets.wall_time", time.Minute.String(), "--wall"},
	}
	c, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	here, _ := filepath.Abs("here")
	if c.Budgets != (Budgets{Steps: 5, WallTime: time.Minute}) || c.Tools.Allow[0] != "jq" ||
		c.Core.Sessions != here {
		t.Errorf("%+v", c)
	}
}
