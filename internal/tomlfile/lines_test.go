package tomlfile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every key outside of inline tables has its own line, whatever stands around it.
func TestLines(t *testing.T) {
	const doc = `# a comment with [brackets] and "quotes
top = """
[not.a.table]
key = 1
"""

[plugins.fetch] # x = 1
a.b = 'it''s' # no
list = [
  { host = "x" }, # }
  "]",
]
[[plugins.fetch.http]]
host = "one"
[[ plugins . "fetch" . http ]]
host = "two"
"odd name".x = 1
[plugins."a.b"]
k = {}
`
	fixed := strings.Replace(doc, "'it''s'", `"it's"`, 1)
	_, lines, err := Parse(fixed)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"top": 2, "plugins.fetch": 7, "plugins.fetch.a": 8, "plugins.fetch.a.b": 8,
		"plugins.fetch.list": 9, "plugins.fetch.list[0].host": 9,
		"plugins.fetch.http": 13, "plugins.fetch.http[0]": 13, "plugins.fetch.http[0].host": 14,
		"plugins.fetch.http[1]": 15, "plugins.fetch.http[1].host": 16,
		`plugins.fetch.http[1]."odd name".x`: 17, `plugins."a.b"`: 18, `plugins."a.b".k`: 19,
		"plugins": 7, "none": 0, "": 0,
	} {
		if have := lines.Of(path); have != want {
			t.Errorf("%s: line %d, want %d", path, have, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for content, want := range map[string]string{
		"a = 1\na = 2": "line 2: ",
		"\n\na = ":     "line 3: ",
		"\na = " + strings.Repeat("[", MaxDepth+1): "line 2: more than 8 brackets",
	} {
		if _, _, err := Parse(content); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", content, err, want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.toml")
	write := func(text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link.toml")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	const most = 10
	full := strings.Repeat("#", most)
	for i, c := range []struct {
		text      string
		mode      os.FileMode
		read      func(string, int) (string, error)
		file, err string
	}{
		{full, 0o600, ReadOwn, file, ""},
		{full, 0o644, ReadOwn, link, ""},
		{full + "#", 0o600, ReadOwn, file, "the file has more than 10 bytes"},
		{full, 0o620, ReadOwn, file, "others can change"},
		{full, 0o602, ReadOwn, file, "others can change"},
		{full, 0o666, ReadStranger, file, ""},
		{full, 0o600, ReadStranger, link, "not a regular file"},
		{"\xff", 0o600, ReadOwn, file, "not UTF-8"},
		{"", 0o600, ReadOwn, dir, "not a regular file"},
		{"", 0o600, ReadOwn, file + "x", "no such file"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			write(c.text, c.mode)
			text, err := c.read(c.file, most)
			if c.err == "" && (err != nil || text != c.text) {
				t.Errorf("%q, %v", text, err)
			}
			if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("%v, want %s", err, c.err)
			}
		})
	}
}

// What the library reads is never too much for the lines: no panic, and no line past the end.
func FuzzLines(f *testing.F) {
	for _, seed := range []string{
		"a=1", "[a]\nb.c=1", "[[a]]\n[[a]]", "a = [\n{b=1}]", "'a'=\"\"\"\n\"\"\"\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		top, lines, err := Parse(content)
		if err != nil {
			return
		}
		for name := range top {
			if n := lines[Join("", name)]; n < 1 || n > 1+strings.Count(content, "\n") {
				t.Errorf("%q is on line %d", name, n)
			}
		}
	})
}

func TestMayOwn(t *testing.T) {
	for _, c := range []struct {
		owner, user int
		want        bool
	}{
		{1000, 1000, true}, {0, 1000, true}, {1000, 0, true}, {0, 0, true}, {1001, 1000, false},
	} {
		if have := mayOwn(c.owner, c.user); have != c.want {
			t.Errorf("owner %d, user %d: %v", c.owner, c.user, have)
		}
	}
}
