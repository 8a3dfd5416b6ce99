package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/gofrs/flock"
	"github.com/google/renameio/v2/maybe"

	"github.com/wasmagent/wasmagent/config"
	"github.com/wasmagent/wasmagent/internal/tomlfile"
)

// approvalsFile is what was allowed, in the state directory.
const approvalsFile = "approvals.toml"

// The sizes of that file.
const (
	maxApprovals     = 10_000
	maxApprovalsFile = 16 << 20 // bytes
)

// approval is the word of an operator who has seen what a plugin is, asks for and gets.
type approval struct {
	Directory string   `toml:"directory"` // the real path of the file's directory
	Plugin    string   `toml:"plugin"`
	File      string   `toml:"file"`           // the digest of the .wasm
	Kind      string   `toml:"kind,omitempty"` // the contract it was taken to be written to; "": this project's
	Policy    string   `toml:"policy"`         // the digest of what its section says
	Needs     []string `toml:"needs"`          // what it asked for
	Grants    []string `toml:"grants"`         // what it was given
	Allowed   string   `toml:"allowed"`
}

type approvals struct {
	Approval []approval `toml:"approval"`
}

// readApprovals reads what was allowed. Without a file that is nothing.
func readApprovals(state string) (*approvals, error) {
	file := filepath.Join(state, approvalsFile)
	content, err := tomlfile.ReadOwn(file, maxApprovalsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return &approvals{}, nil
	}
	if err != nil {
		return nil, &config.Error{File: file, Detail: reason(err), Err: err}
	}
	top, lines, err := tomlfile.Parse(content)
	if e, ok := errors.AsType[*tomlfile.Error](err); ok {
		return nil, &config.Error{File: file, Line: e.Line, Err: e.Err,
			Detail: e.Detail + ": remove the file, and allow again what is to be allowed"}
	}
	d := &decoder{file: file, lines: lines, most: maxApprovals}
	a := &approvals{}
	d.value("", top, reflect.ValueOf(a).Elem())
	return a, d.err()
}

// find gives the approval of a plugin; nil: there is none.
func (a *approvals) find(directory, plugin string) *approval {
	i := slices.IndexFunc(a.Approval, func(one approval) bool {
		return one.Directory == directory && one.Plugin == plugin
	})
	if i < 0 {
		return nil
	}
	return &a.Approval[i]
}

// changed tells what is not as it was when it was approved.
func (a *approval) changed(now *approval) []string {
	var what []string
	if a.File != now.File {
		what = append(what, "file")
	}
	if a.Kind != now.Kind { // a later program may know another one
		what = append(what, "kind")
	}
	if !slices.Equal(a.Needs, now.Needs) {
		what = append(what, "needs")
	}
	if a.Policy != now.Policy {
		what = append(what, "policy")
	}
	return what
}

// changeApprovals reads the file, changes what it says, and writes it. Whoever else does so at this
// time waits.
func changeApprovals(state string, change func(*approvals)) (err error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return err
	}
	lock := flock.New(filepath.Join(state, approvalsFile+".lock"))
	if err := lock.Lock(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	a, err := readApprovals(state)
	if err != nil {
		return err
	}
	change(a)
	slices.SortFunc(a.Approval, func(x, y approval) int {
		return slices.Compare([]string{x.Directory, x.Plugin}, []string{y.Directory, y.Plugin})
	})
	if len(a.Approval) > maxApprovals {
		return fmt.Errorf("%s: more than %d approvals: revoke some", approvalsFile, maxApprovals)
	}
	var b bytes.Buffer
	b.WriteString("# Written by \"wasmagent allow\" and \"wasmagent revoke\".\n\n")
	if err := toml.NewEncoder(&b).Encode(a); err != nil {
		return err
	}
	return maybe.WriteFile(filepath.Join(state, approvalsFile), b.Bytes(), 0o600)
}

// put adds an approval, in the place of an earlier one.
func (a *approvals) put(one approval) {
	a.remove(one.Directory, one.Plugin)
	one.Allowed = time.Now().UTC().Format(time.RFC3339)
	a.Approval = append(a.Approval, one)
}

func (a *approvals) remove(directory, plugin string) (removed bool) {
	before := len(a.Approval)
	a.Approval = slices.DeleteFunc(a.Approval, func(one approval) bool {
		return one.Directory == directory && one.Plugin == plugin
	})
	return len(a.Approval) < before
}

// digest stands for a value: equal values have equal digests.
func digest(v any) string {
	b, err := json.Marshal(v) // maps are sorted
	if err != nil {
		panic(err) // nothing of a section is without a JSON form
	}
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// reason is an error without the path that its reader adds.
func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
