package loader

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
)

// A list that would be too large to be read is not written.
func TestListSize(t *testing.T) {
	dir := t.TempDir()
	save := func(max int64) (*list, error) {
		l := openList(dir, "plugins", make([]byte, keyBytes))
		l.max = max
		l.changed = true
		l.kept["p"] = entry{Digest: "sha256:0", Manifest: abi.AppendManifest(nil, &abi.Manifest{})}
		return l, l.save()
	}
	l, err := save(maxListBytes)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(l.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(l.file); err != nil {
		t.Fatal(err)
	}
	if _, err := save(info.Size() - 1); err == nil {
		t.Error("a list one byte past the limit was taken")
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) > 0 {
		t.Errorf("it left %v", files)
	}
	if _, err := save(info.Size()); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}
