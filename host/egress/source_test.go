package egress

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestSources(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("EGRESS_TEST_SECRET", "from the environment\n")
	cases := []struct{ source, want string }{
		{"env:EGRESS_TEST_SECRET", "from the environment"},
		{"env:EGRESS_TEST_MISSING", "error: no variable EGRESS_TEST_MISSING"},
		{"file:" + write("plain", "value", 0o600), "value"},
		{"file:" + write("newline", "value\n", 0o600), "value"},
		{"file:" + write("crlf", "value\r\n", 0o600), "value"},
		{"file:" + write("newlines", "value\n\n", 0o600), "value\n"},
		{"file:" + write("long", strings.Repeat("x", MaxSecret)+"\r\n", 0o600), strings.Repeat("x",
			MaxSecret)},
		{"file:" + write("longer", strings.Repeat("x", 3*MaxSecret), 0o600), strings.Repeat("x",
			MaxSecret+3)},
		{"file:" + filepath.Join(dir, "missing"), "error: no such file"},
		{"file:" + dir, "error: not a regular file"},
		{"file:/dev/zero", "error: not a regular file"},
	}
	if runtime.GOOS != "windows" {
		cases = append(cases, []struct{ source, want string }{
			{"cmd:" + write("ok", "#!/bin/sh\necho \"$1-$2\"; echo noise >&2\n", 0o700) + " a  b", "a-b"},
			{"cmd:" + write("fails", "#!/bin/sh\necho the-secret; echo the-secret >&2; exit 3\n", 0o700),
				"error: exit status 3"},
			{"cmd:" + write("flood", "#!/bin/sh\nhead -c 100000 /dev/zero | tr '\\0' x\n", 0o700),
				strings.Repeat("x", MaxSecret+3)},
			{"cmd:" + write("reads", "#!/bin/sh\ncat; echo end\n", 0o700), "end"},
			{"cmd:" + filepath.Join(dir, "missing"), "error: no such file"},
		}...)
	}
	for _, c := range cases {
		from, err := ParseSource(c.source)
		if err != nil {
			t.Fatal(err)
		}
		got, err := from(t.Context())
		if want, fails := strings.CutPrefix(c.want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(),
				"the-secret") {
				t.Errorf("%s: %v", c.source, err)
			}
		} else if got != c.want || err != nil {
			t.Errorf("%s: %.40q %v", c.source, got, err)
		}
	}
	for _, text := range []string{"", "TOKEN", "env:", "file:", "cmd:", "file:relative",
		"cmd:relative", "cmd: ",
		"cmd:/bin/echo \"a b\"", "cmd:/bin/echo $HOME", "cmd:/bin/a | /bin/b", "vault:x",
		"file:/a\x00b"} {
		if _, err := ParseSource(text); err == nil {
			t.Errorf("%q is a source", text)
		}
	}
}

// TestCommandIsEnded has a command that outlives its caller's time.
func TestCommandIsEnded(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a shell")
	}
	path := filepath.Join(t.TempDir(), "slow")
	if err := os.WriteFile(path, []byte("#!/bin/sh\nexec sleep 1000\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	from, err := ParseSource("cmd:" + path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := from(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}
