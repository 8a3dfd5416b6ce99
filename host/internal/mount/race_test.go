package mount

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// TestUsageOfOneFile has several calls write and truncate one file: what they free was really there.
func TestUsageOfOneFile(t *testing.T) {
	const calls, times, size, other = 4, 300, 100, 1 << 20
	name := filepath.Join(t.TempDir(), "f")
	u := &usage{bytes: other, maxBytes: 2 * other, maxFiles: 1} // other lies in other files
	var group sync.WaitGroup
	for range calls {
		file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		d := &descriptor{file: file, usage: u}
		group.Go(func() {
			defer file.Close()
			for range times {
				if _, err := d.writeAt(make([]byte, size), 0); err != nil {
					t.Error(err)
				}
				if _, err := d.resize(0, true); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if u.bytes != other {
		t.Errorf("%d bytes are used, want %d", u.bytes, other)
	}
}
