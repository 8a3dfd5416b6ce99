package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A client is not told of a program that go run will remove.
func TestFleeting(t *testing.T) {
	for file, want := range map[string]bool{
		"/tmp/go-build123/b001/exe/wasmagent": true, "/root/.cache/go-build/ab/c-d/wasmagent": true,
		"/usr/local/bin/wasmagent": false, "/home/a/gobuild/wasmagent": false,
	} {
		if got := isFleeting(filepath.FromSlash(file)); got != want {
			t.Errorf("%s: %t", file, got)
		}
	}
}

// A link on the PATH is what a client is told, if it leads to this program.
func TestThisProgram(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	link := filepath.Join(dir, "wasmagent")
	if err := os.WriteFile(link, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := thisProgram("wasmagent"); err != nil || got != self {
		t.Errorf("another program on the PATH: %s, %v", got, err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, link); err != nil {
		t.Skip(err)
	}
	for _, called := range []string{"wasmagent", "./bin/wasmagent"} {
		if got, err := thisProgram(called); err != nil || got != link {
			t.Errorf("%s: %s, %v", called, got, err)
		}
	}
}
