package loader

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/renameio/v2/maybe"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/abi/abihost"
	"github.com/wasmagent/wasmagent/plugins"
)

const (
	// listVersion changes when what is kept, or what a plugin must fulfil to be kept, changes.
	listVersion = 4
	// maxListBytes bounds a kept list, in bytes; a larger one is not written, and counts as none.
	maxListBytes = 64 << 20
	// racyWindow is how old a file must be before it is kept: a file system stamps its times in
	// steps, and a change within the same step would not show.
	racyWindow = 100 * time.Millisecond
)

// list is what is known of the plugins of one directory without opening them. It is kept in a file,
// sealed with a key: a file that is missing, cut, of another version or not ours is an empty list.
type list struct {
	file string
	key  []byte
	max  int64 // bytes of the file

	mu      sync.Mutex
	old     map[string]entry // by path, as kept
	kept    map[string]entry // by path, seen or learned now
	changed bool
}

type entry struct {
	fileState
	Policy   string `json:",omitempty"` // the Decision.Digest that it was learned under
	Digest   string
	Manifest []byte   // as abi.AppendManifest codes it
	Bad      verdicts `json:",omitempty"`
	Kind     string   `json:",omitempty"`
	KindWhy  string   `json:",omitempty"`
}

// known is what an entry says of a plugin.
type known struct {
	files    fileState
	policy   string
	digest   string
	manifest abi.Manifest
	bad      verdicts
	kind     string
	kindWhy  string
}

// verdicts say why tools are not offered, by name. To compile schemas takes longer than all else
// that a list does, so it is done when a plugin is read.
type verdicts map[string]string

func judge(tools []abi.ToolSpec) verdicts {
	var bad verdicts
	for _, t := range tools {
		if err := plugins.CheckSpec(t); err != nil {
			if bad == nil {
				bad = verdicts{}
			}
			bad[t.Name] = abi.CleanText(err.Error(), abi.MaxTextChars)
		}
	}
	return bad
}

// identity tells one state of a file from another without reading it.
type identity struct {
	Dev, Ino     uint64
	Size         int64
	MTime, CTime int64 // nanoseconds; CTime is 0 where the system has none
}

// sealed is the form on disk: a MAC over Body, and Body, the JSON of body.
type sealed struct {
	MAC  []byte
	Body json.RawMessage
}

type body struct {
	Version int
	Plugins map[string]entry
}

// openList reads the list kept for origin, a path, below dir.
func openList(dir, origin string, key []byte) *list {
	if abs, err := filepath.Abs(origin); err == nil {
		origin = abs
	}
	name := sha256.Sum256([]byte(origin))
	l := &list{
		file: filepath.Join(dir, hex.EncodeToString(name[:16])+".json"),
		key:  key, max: maxListBytes, old: map[string]entry{}, kept: map[string]entry{},
	}
	raw, _, err := read(l.file, l.max)
	if err != nil {
		return l
	}
	var s sealed
	if json.Unmarshal(raw, &s) != nil || !hmac.Equal(s.MAC, l.mac(s.Body)) {
		return l
	}
	var b body
	if json.Unmarshal(s.Body, &b) == nil && b.Version == listVersion {
		l.old = b.Plugins
	}
	return l
}

// find gives what is kept of the file that info describes, under the same policy.
func (l *list) find(path string, info fs.FileInfo, policy string) (k known, ok bool) {
	e, ok := l.old[path]
	if !ok || e.Policy != policy || !e.holds(info) {
		return known{}, false
	}
	m, err := abihost.ParseManifest(e.Manifest)
	if err != nil {
		return known{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept[path] = e
	return known{e.fileState, e.Policy, e.Digest, m, e.Bad, e.Kind, e.KindWhy}, true
}

// keep remembers what was learned from files that were not young.
func (l *list) keep(path string, k *known) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.changed = true
	l.kept[path] = entry{
		fileState: k.files, Policy: k.policy, Digest: k.digest, Manifest: abi.AppendManifest(nil, &k.manifest),
		Bad: k.bad, Kind: k.kind, KindWhy: k.kindWhy,
	}
}

// young tells whether a file that was read at a time may have changed since without a trace. One
// from the future always may.
func young(info fs.FileInfo, at time.Time) bool {
	return at.Sub(info.ModTime()) < racyWindow ||
		at.Sub(time.Unix(0, identify(info).CTime)) < racyWindow
}

// save writes the list if it says something new. Entries of files that were not seen are dropped.
func (l *list) save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.changed && len(l.kept) == len(l.old) {
		return nil
	}
	raw, err := json.Marshal(body{Version: listVersion, Plugins: l.kept})
	if err != nil {
		return err
	}
	raw, err = json.Marshal(sealed{MAC: l.mac(raw), Body: raw})
	if err != nil {
		return err
	}
	if int64(len(raw)) > l.max {
		return fmt.Errorf("%d bytes, over the limit of %d bytes: every start reads all plugins again",
			len(raw), l.max)
	}
	if err := os.MkdirAll(filepath.Dir(l.file), 0o700); err != nil {
		return err
	}
	if err := maybe.WriteFile(l.file, raw, 0o600); err != nil {
		return err
	}
	l.old, l.changed = maps.Clone(l.kept), false
	return nil
}

// drop forgets a file that is gone.
func (l *list) drop(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.kept, path)
}

// mac binds a body to the key and to its file name, so that no list passes for another.
func (l *list) mac(body []byte) []byte {
	h := hmac.New(sha256.New, l.key)
	h.Write([]byte("wasmagent list\x00" + filepath.Base(l.file) + "\x00"))
	h.Write(body)
	return h.Sum(nil)
}
