package loader_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// What does not serve, and what does, can be seen.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{"p.wasm": version(1, "p")})
	s := newScene(t, dir, options(t))
	was := plugin(t, s.d, "p")
	s.put("p.wasm", spoilt("p"))
	s.looks(2)
	p := plugin(t, s.d, "p")
	if p.Err != nil || p.Digest != was.Digest || len(p.Tools) != 1 {
		t.Errorf("the version that serves: %+v", p)
	}
	load, ok := errors.AsType[*host.LoadError](p.Held)
	if !ok {
		t.Fatalf("held for %v", p.Held)
	}
	if n := strings.Count(p.Held.Error(), load.Error()); n != 1 {
		t.Errorf("the cause is told %d times: %v", n, p.Held)
	}
	s.put("p.wasm", version(1, "p"))
	s.looks(2)
	if p := plugin(t, s.d, "p"); p.Held != nil {
		t.Errorf("it is as it was, and held for %v", p.Held)
	}
}

// Whoever comes second is told of both.
func TestCollisionNamesBoth(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string][]byte{"z.wasm": version(1, "x")})
	s := newScene(t, dir, options(t))
	s.put("a.wasm", version(2, "x"))
	s.put("z/plugin.wasm", version(2, "x"))
	s.looks(2)
	if have := s.answers(); have != "x=1" {
		t.Errorf("have %s", have)
	}
	texts := errors.Join(s.told[0].Refused...).Error()
	for _, want := range []string{
		`tool "x" is claimed by ` + s.path("a.wasm") + " and " + s.path("z.wasm") + ": " +
			s.path("z.wasm") + " had it first and keeps it",
		`plugin "z" is claimed by ` + s.path("z.wasm") + " and " + s.path("z/plugin.wasm") + ": " +
			s.path("z.wasm") + " had it first and keeps it",
	} {
		if !strings.Contains(texts, want) {
			t.Errorf("%s\ndoes not say\n%s", texts, want)
		}
	}
}

// byDigest allows what it has seen the digest of, as an operator does who grants something.
type byDigest map[string]bool

func (b byDigest) Decide(p *loader.Plugin) (loader.Decision, error) {
	if p.Digest != "" && !b[p.Digest] {
		err := loader.NotAllowed(p, nil)
		err.Changed = []string{"file"}
		return loader.Decision{}, err
	}
	return loader.Decision{}, nil
}

// A file that nobody approved of leaves the version serving that somebody did.
func TestApprovedVersionServesOn(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	write(t, dir, map[string][]byte{"p.wasm": version(1, "p")})
	d, err := loader.OpenDir(t.Context(), dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	digest := plugin(t, d, "p").Digest
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	opts.Policies = byDigest{digest: true}
	s := newScene(t, dir, opts)
	s.put("p.wasm", version(2, "p"))
	s.looks(2)
	if have, news := s.answers(), s.news(); have != "p=1" || news != "!p" {
		t.Errorf("have %s, news %s", have, news)
	}
	held, ok := errors.AsType[*loader.NotAllowedError](plugin(t, s.d, "p").Held)
	if !ok || !held.Approval || !strings.Contains(held.Error(), "needs approval") {
		t.Errorf("held for %v", held)
	}
	after := open(t, dir, opts) // the next start
	if p := plugin(t, after, "p"); p.Err == nil || len(p.Tools) != 0 {
		t.Errorf("the next start runs it: %+v", p)
	}
}

// A directory that cannot be read as a whole changes nothing.
func TestUnreadableDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plugins")
	write(t, dir, map[string][]byte{"p.wasm": version(1, "p")})
	s := newScene(t, dir, options(t))
	s.must(os.Rename(dir, dir+".old"))
	s.must(os.WriteFile(dir, nil, 0o644))
	s.looks(3)
	if have, news := s.answers(), s.news(); have != "p=1" || news != "" {
		t.Errorf("have %s, told %s", have, news)
	}
	s.must(os.Remove(dir))
	s.must(os.Rename(dir+".old", dir))
	s.put("p.wasm", version(2, "p"))
	s.looks(2)
	if have := s.answers(); have != "p=2" {
		t.Errorf("have %s", have)
	}
}

// One file, and one folder, that a person named are watched too.
func TestLookAtOneFile(t *testing.T) {
	for _, name := range []string{"p.wasm", "p/plugin.wasm"} {
		dir, reg := t.TempDir(), plugins.NewRegistry(nil)
		path := filepath.Join(dir, strings.TrimSuffix(name, "/plugin.wasm"))
		write(t, dir, map[string][]byte{name: version(1, "p")})
		d, err := loader.OpenFile(t.Context(), path, quick(options(t)))
		if err != nil {
			t.Fatal(err)
		}
		changes := watching(t, d, reg)
		for n := 2; n < 4; n++ {
			write(t, dir, map[string][]byte{name: version(n, "p")})
			await(t, reg, changes, n)
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		for c := range changes {
			if slices.Equal(c.Removed, []string{"p"}) {
				break
			}
		}
		write(t, dir, map[string][]byte{name: version(4, "p"), "q.wasm": version(1, "q")})
		await(t, reg, changes, 4)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if n := len(d.Plugins()); n != 1 {
			t.Errorf("%d plugins", n)
		}
	}
}

// A file settles once it is older than the steps of the system's clock, and one from the future
// does, too: it is not read at every look for ever.
func TestSettled(t *testing.T) {
	for _, tt := range []struct {
		name       string
		age, mtime time.Duration // of the last change, and what the file says of it
		again      bool
	}{
		{"old", time.Hour, time.Hour, false},
		{"just old enough", loader.RacyWindow, time.Hour, false},
		{"a little too young", loader.RacyWindow - 1, time.Hour, true},
		{"from the future", time.Hour, -24 * time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, opts := t.TempDir(), options(t)
			path := filepath.Join(dir, "p.wasm")
			write(t, dir, map[string][]byte{"p.wasm": version(1, "p")})
			said := time.Now().Add(-tt.mtime)
			if err := os.Chtimes(path, said, said); err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			now := loader.Changed(info).Add(tt.age)
			loader.SetNow(opts, func() time.Time { return now })
			s := newScene(t, dir, opts)
			reads := loader.CountReads(opts)
			for range 3 {
				if again, err := s.look.Look(t.Context()); err != nil || again != tt.again {
					t.Errorf("again %v, %v", again, err)
				}
			}
			if n := reads(path); (n > 0) != tt.again {
				t.Errorf("read %d times", n)
			}
		})
	}
}
