//go:build unix

package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/host"
)

func TestQuotas(t *testing.T) {
	w := newWorld(t)
	const full = "error Quota exceeded"
	mount := w.rw()
	mount.Bytes, mount.Files = 200_000, 3
	m := w.guest(mount)
	expect(t, m, []step{
		{"fill /data/big 200000", "ok"},
		{"append /data/big x", full},
		{"write /data/a.txt hell", "ok"}, // is a byte shorter
		{"append /data/a.txt o", "ok"},
		{"append /data/a.txt !", full},
		{"open f /data/big", "ok"},
		{"putat f 199999 x", "ok"},
		{"putat f 200000 x", full},
		{"putat f 9223372036854775806 xyz", "error File too large"},
		{"putat f 1000000000000 x", full},
		{"truncate f 200001", full},
		{"truncate f 100000", "ok"},
		{"truncate f 200000", "ok"},
		{"remove /data/big", "ok"},
		{"write /data/c x", full}, // not before the removed file is closed
		{"close f", "ok"},
	})
	expect(t, m, []step{
		{"fill /data/big 199999", "ok"},
		{"write /data/c x", "ok"},
		{"mkdir /data/d", "ok"},
		{"write /data/e x", full},
		{"mkdir /data/e", full},
		{"symlink c /data/e", full},
		{"rename /data/c /data/big", "ok"},
		{"write /data/c x", "ok"},
		{"rmdir /data/d", "ok"},
		{"symlink c /data/e", "ok"},
		{"files /data/f 1", full},
	})
}

func TestQuotaDefaults(t *testing.T) {
	w := newWorld(t)
	for _, mount := range []host.Mount{w.rw(), {Guest: "/data", Scratch: true}} {
		m := w.guest(mount)
		got, _, err := runTo(t.Context(), m, nil, "", "files /data/f 10000", "list /data")
		most := host.DefaultMountFiles
		if err != nil || got[0] != "error Quota exceeded" ||
			!strings.Contains(got[1], fmt.Sprint(most)) &&
				!strings.Contains(got[1], fmt.Sprint(most+2)) {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestOpenFiles(t *testing.T) {
	w := newWorld(t)
	m := w.guest(w.ro())
	const most = 64
	for range 2 { // what a call left open is closed, and nothing of it is in the next
		expect(t, m, []step{
			{"held", "ok 0"},
			{fmt.Sprintf("hold /data/a.txt %d", most), "ok"},
			{"read /data/a.txt", "error Too many open files"},
			{"list /data", "error Too many open files"},
		})
	}
	before := openDescriptors(t)
	for range 5 {
		expect(t, m, []step{{fmt.Sprintf("hold /data/sub %d", most), "ok"}})
	}
	if after := openDescriptors(t); after > before {
		t.Errorf("%d descriptors are open, %d were", after, before)
	}
}

func openDescriptors(t *testing.T) int {
	list, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(list)
}

func TestListing(t *testing.T) {
	w := newWorld(t)
	const most = 10_000
	for i := range most {
		w.write(fmt.Sprintf("many/%05d", i), "")
	}
	many := host.Mount{Host: filepath.Join(w.top, "many"), Guest: "/many", Write: true}
	m := w.guest(many)
	expect(t, m, []step{
		{"list /many", "ok 10000: 00000 to 09999"},
		{"create /many/more", "ok"},
		{"list /many", "error Value too large for defined data type"},
		{"read /many/00007", "ok"},
	})
}
