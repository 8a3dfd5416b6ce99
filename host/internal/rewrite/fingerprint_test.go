package rewrite

import (
	"os"
	"strings"
	"testing"
)

// A file that is not in the fingerprint could change without the caches noticing.
func TestFingerprintHasAllFiles(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".go") && !strings.HasSuffix(f.Name(), "_test.go") {
			if _, err := sources.ReadFile(f.Name()); err != nil {
				t.Errorf("%s is not embedded", f.Name())
			}
		}
	}
	if Fingerprint() == [32]byte{} {
		t.Error("no fingerprint")
	}
}
