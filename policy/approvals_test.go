package policy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/loader"
)

// What an approval was given for, and nothing else, is run.
func TestChanged(t *testing.T) {
	const section = `
[plugins.fetch]
env.TZ = "UTC"
[[plugins.fetch.files]]
host = "$DIR/link"
guest = "/data"
mode = "ro"
[[plugins.fetch.http]]
host = "example.org"
`
	for _, c := range []struct {
		name   string
		change func(w *world)
		want   []string // nil: it is run
	}{
		{"nothing", func(*world) {}, nil},
		{"the file", func(w *world) { w.plugin.Digest = "sha256:2" }, []string{"file"}},
		{"the kind", func(w *world) { w.plugin.Kind = "command" }, []string{"kind"}},
		{"the needs", func(w *world) {
			w.plugin.Manifest.Needs.HTTP = []abi.HTTPNeed{{Host: "example.org", Optional: true}}
		}, []string{"needs"}},
		{"a value", func(w *world) {
			w.write(strings.Replace(section, "UTC", "CET", 1))
		}, []string{"policy"}},
		{"a grant more", func(w *world) {
			w.write(section + "methods = [\"POST\"]\n")
		}, []string{"policy"}},
		{"a grant less", func(w *world) {
			w.write(strings.Replace(section, "env.TZ = \"UTC\"\n", "", 1))
		}, []string{"policy"}},
		{"where a link leads", func(w *world) {
			w.link("plugins")
		}, []string{"policy"}},
		{"all of it", func(w *world) {
			w.plugin.Digest = "sha256:2"
			w.plugin.Manifest.Needs.KV = &abi.KVNeed{Optional: true}
			w.write(section + "port = 8443\n")
		}, []string{"file", "needs", "policy"}},
		{"the directory", func(w *world) { w.plugin.Dir = filepath.Join(w.dir, "data") }, []string{}},
		{"the name", func(w *world) {
			w.plugin.Name = "other"
			w.write(strings.ReplaceAll(section, "fetch", "other"))
		}, []string{}},
		{"comments and other sections", func(w *world) {
			w.write("# mine\n[defaults.limits]\ntime = \"1s\"\n" + section + "[plugins.x]\nkv = true\n")
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.link("data")
			w.write(section)
			w.allow(nil)
			if d, err := w.decide(); err != nil || d.Host.Grants.HTTP == nil {
				t.Fatalf("allowed, and not run: %v", err)
			}
			c.change(w)
			d, err := w.decide()
			if c.want == nil {
				if err != nil || len(d.Host.Grants.Files) != 1 {
					t.Errorf("%v", err)
				}
				return
			}
			refused, ok := errors.AsType[*loader.NotAllowedError](err)
			if !ok || !refused.Approval || !slices.Equal(refused.Changed, c.want) {
				t.Fatalf("%v, want it refused for %v", err, c.want)
			}
			if !reflect.DeepEqual(d, loader.Decision{}) {
				t.Errorf("it is refused, and granted %+v", d)
			}
			w.allow(nil)
			if _, err := w.decide(); err != nil {
				t.Errorf("allowed again, and not run: %v", err)
			}
		})
	}
}

// link makes the link of the directory lead to another one.
func (w *world) link(to string) {
	w.t.Helper()
	link := filepath.Join(w.dir, "link")
	if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
		w.t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(w.dir, to), link); err != nil {
		w.t.Fatal(err)
	}
}

// A plugin that is granted nothing needs no approval, whatever becomes of it.
func TestNothingGranted(t *testing.T) {
	w := newWorld(t)
	w.write("[plugins.fetch]\nprefix = true\nkv = false\nhttp = []\nlimits.time = \"1s\"\n")
	for _, digest := range []string{"sha256:1", "sha256:2"} {
		w.plugin.Digest = digest
		d, err := w.decide()
		if err != nil || !d.Prefix || d.Host.Limits.Time == 0 {
			t.Errorf("%+v, %v", d, err)
		}
	}
}

// A plugin that needs more than it is granted is refused for that, allowed or not.
func TestLacks(t *testing.T) {
	w := newWorld(t)
	w.write("[plugins.fetch]\nkv = true\n")
	w.allow(nil)
	w.plugin.Manifest.Needs = abi.Needs{
		KV:   &abi.KVNeed{},
		HTTP: []abi.HTTPNeed{{Host: "example.org", Methods: []string{"POST"}}},
	}
	_, err := w.decide()
	refused, ok := errors.AsType[*loader.NotAllowedError](err)
	if !ok || !slices.Equal(refused.Needs, []string{"http example.org"}) || refused.Approval {
		t.Fatalf("%v", err)
	}
	if want := "wasmagent allow fetch --http 'POST example.org'"; refused.Allow != want {
		t.Errorf("%s, want %s", refused.Allow, want)
	}
	_, err = w.open().Review(&w.plugin, &Additions{HTTP: []string{"example.org"}})
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "needs http POST example.org,") {
		t.Errorf("a review without enough: %v", err)
	}
	w.allow(&Additions{HTTP: []string{"POST example.org"}})
	if _, err := w.decide(); err != nil {
		t.Error(err)
	}
}

func TestReview(t *testing.T) {
	w := newWorld(t)
	w.plugin.Manifest.Needs = abi.Needs{KV: &abi.KVNeed{Optional: true},
		Config: []abi.ValueNeed{{Name: "n", Default: "1", Description: "how " + strings.Repeat("é", maxReason)}}}
	p := w.open()
	r, err := p.Review(&w.plugin, &Additions{KV: true, Env: []string{"TZ=UTC"}})
	if err != nil {
		t.Fatal(err)
	}
	grants := []string{"kv: what it keeps from call to call", "env TZ"}
	if !r.First || !slices.Equal(r.Grants, grants) ||
		!slices.Equal(r.Asks, []string{"kv (optional)", "config n (optional): how " +
			strings.Repeat("é", maxReason/2-2) + "…"}) || len(r.Changes) > 0 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(w.file); !errors.Is(err, os.ErrNotExist) {
		t.Error("a review writes")
	}
	if err := p.Allow(r); err != nil {
		t.Fatal(err)
	}
	w.plugin.Digest, w.plugin.Manifest.Needs.KV = "sha256:2", nil
	r, err = w.open().Review(&w.plugin, &Additions{HTTP: []string{"http://example.org"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{"file", "sha256:1", "sha256:2"},
		{"needs", "kv (optional)", ""},
		{"grants", "", `http { host = "example.org", scheme = "http" }`},
	}
	if r.First || !slices.Equal(r.Changes, want) {
		t.Errorf("changes %q, want %q", r.Changes, want)
	}
	warnings := strings.Join(r.Warnings, "\n")
	for _, want := range []string{"http[0].scheme: without TLS", "kv: the plugin does not ask"} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no warning %q in\n%s", want, warnings)
		}
	}
}

// A plugin of another contract cannot ask, so nothing is told of that; what its engine cannot keep is.
func TestReviewOfAnotherContract(t *testing.T) {
	for grant, kept := range map[string]bool{"kv = true": false, `http = [{ host = "example.org" }]`: true} {
		w := newWorld(t)
		w.write("[plugins.fetch]\nengine = \"extism-sdk\"\n" + grant + "\n")
		w.plugin.Kind = "extism"
		r, err := w.open().Review(&w.plugin, nil)
		if err != nil {
			t.Fatal(err)
		}
		warnings := strings.Join(r.Warnings, "\n")
		if told := strings.Contains(warnings, "engine: extism-sdk has no kv"); told == kept ||
			strings.Contains(warnings, "does not ask") {
			t.Errorf("%s: %s", grant, warnings)
		}
	}
}

// No value of a variable, a setting or a secret is shown or kept with the approval.
func TestApprovalTellsNoValues(t *testing.T) {
	w := newWorld(t)
	w.allow(&Additions{Env: []string{"A=s3cret"}, Config: []string{"b=s3cret"}})
	b, err := os.ReadFile(filepath.Join(w.opts.StateDir, approvalsFile))
	if err != nil || strings.Contains(string(b), "s3cret") {
		t.Errorf("%v\n%s", err, b)
	}
	info, err := os.Stat(filepath.Join(w.opts.StateDir, approvalsFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestRevoke(t *testing.T) {
	w := newWorld(t)
	w.allow(&Additions{KV: true})
	p := w.open()
	for i, want := range []bool{true, false} {
		if was, err := p.Revoke(w.plugin.Dir, "fetch"); err != nil || was != want {
			t.Errorf("%d: %v, %v", i, was, err)
		}
	}
	if _, err := w.decide(); err == nil {
		t.Error("revoked, and run")
	}
}

// Approvals that cannot be read are none, and that is told.
func TestBadApprovals(t *testing.T) {
	for i, c := range []struct{ content, want string }{
		{"[[approval]]\ndirectory = ", "approvals.toml:2: "},
		{"[[approval]]\nplugins = \"x\"\n", "toml:2: approval[0].plugins: there is no such key"},
		{"approval = 5\n", "approvals.toml:1: approval: want a list"},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			w := newWorld(t)
			file := filepath.Join(w.opts.StateDir, approvalsFile)
			if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(w.file, &w.opts); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	w := newWorld(t)
	w.allow(&Additions{KV: true})
	if err := os.Chmod(filepath.Join(w.opts.StateDir, approvalsFile), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Open(w.file, &w.opts)
	if err == nil || !strings.Contains(err.Error(), "others can change") {
		t.Errorf("approvals that everybody can write: %v", err)
	}
}

// Approvals given at once are all kept.
func TestApprovalsAtOnce(t *testing.T) {
	w := newWorld(t)
	const n = 8
	var group sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		group.Go(func() {
			errs[i] = changeApprovals(w.opts.StateDir, func(a *approvals) {
				a.put(approval{Directory: "/d", Plugin: fmt.Sprint(i), File: "f", Policy: "p"})
			})
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	a, err := readApprovals(w.opts.StateDir)
	if err != nil || len(a.Approval) != n {
		t.Errorf("%d of %d are kept, %v", len(a.Approval), n, err)
	}
}

func TestMostApprovals(t *testing.T) {
	w := newWorld(t)
	fill := func(n int) error {
		return changeApprovals(w.opts.StateDir, func(a *approvals) {
			a.Approval = nil
			for i := range n {
				a.Approval = append(a.Approval, approval{Directory: "/d", Plugin: fmt.Sprint(i)})
			}
		})
	}
	if err := fill(maxApprovals + 1); err == nil || !strings.Contains(err.Error(), "revoke some") {
		t.Errorf("over the limit: %v", err)
	}
	a, err := readApprovals(w.opts.StateDir)
	if err != nil || len(a.Approval) != 0 {
		t.Errorf("what was too much is kept: %d, %v", len(a.Approval), err)
	}
}

// A policy that was changed while it was looked at is looked at again.
func TestChangedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.write("[plugins.other]\n")
	p := w.open()
	r, err := p.Review(&w.plugin, &Additions{KV: true})
	if err != nil {
		t.Fatal(err)
	}
	w.write("[plugins.other]\nkv = true\n")
	if err := p.Allow(r); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("%v", err)
	}
	_, err = os.Stat(filepath.Join(w.opts.StateDir, approvalsFile))
	if !errors.Is(err, os.ErrNotExist) {
		t.Error("the approval was written without the grant")
	}
}
