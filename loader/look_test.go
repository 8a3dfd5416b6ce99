package loader_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/hosttest"
	"github.com/wasmagent/wasmagent/loader"
	"github.com/wasmagent/wasmagent/plugins"
)

// version makes version n of a plugin: each of its tools answers n.
func version(n int, tools ...string) []byte {
	value := abi.AppendInt(nil, int64(n))
	return hosttest.Plugin{
		Name: "v", Version: fmt.Sprint(n), Tools: specs(tools...), Stamp: true, Pad: n,
		Call: hosttest.Reply(abi.AppendReply(nil, &abi.Reply{Outcome: abi.OutcomeOK, Value: value})),
	}.Bytes()
}

// spoilt is a plugin that lists its tool, and does not compile.
func spoilt(tool string) []byte {
	return hosttest.Plugin{Name: "v", Tools: specs(tool), Stamp: true, Start: hosttest.Trap}.Bytes()
}

// scene is a watched directory, looked at when its test wants it, and the registry of its tools.
type scene struct {
	t    *testing.T
	dir  string
	d    *loader.Dir
	reg  *plugins.Registry
	look *loader.Looker
	told []loader.Change
}

func newScene(t *testing.T, dir string, opts *loader.Options) *scene {
	s := &scene{t: t, dir: dir, reg: plugins.NewRegistry(nil), d: open(t, dir, opts)}
	if err := s.reg.Add(s.d.Tools()...); err != nil {
		t.Fatal(err)
	}
	look, err := loader.NewLooker(s.d, func(c loader.Change) {
		s.told = append(s.told, c)
		if err := s.reg.Replace(c.Old, c.New); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s.look = look
	return s
}

// looks looks n times.
func (s *scene) looks(n int) {
	s.t.Helper()
	for range n {
		if _, err := s.look.Look(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
}

// answers calls all tools: "a=1 b=2".
func (s *scene) answers() string {
	s.t.Helper()
	var all []string
	for spec := range s.reg.Specs() {
		res, err := s.reg.Call(s.t.Context(), plugins.Call{Tool: spec.Name})
		if err != nil {
			s.t.Errorf("%s: %v", spec.Name, err)
		}
		all = append(all, spec.Name+"="+string(res.Value))
	}
	return strings.Join(all, " ")
}

// news says what was told since it was last asked: "+added ~replaced -removed !refused".
func (s *scene) news() string {
	var all []string
	for _, c := range s.told {
		for sign, names := range map[string][]string{"+": c.Added, "~": c.Replaced, "-": c.Removed} {
			for _, name := range names {
				all = append(all, sign+name)
			}
		}
		for _, err := range c.Refused {
			all = append(all, "!"+whose(err))
		}
	}
	s.told = nil
	slices.Sort(all)
	return strings.Join(all, " ")
}

func whose(err error) string {
	if e, ok := errors.AsType[*loader.LoadError](err); ok {
		return e.Plugin
	}
	if e, ok := errors.AsType[*loader.NotAllowedError](err); ok {
		return e.Plugin
	}
	if e, ok := errors.AsType[*loader.CollisionError](err); ok {
		return e.What + ":" + e.Name
	}
	return err.Error()
}

func (s *scene) path(name string) string { return filepath.Join(s.dir, name) }

func (s *scene) put(name string, data []byte) { write(s.t, s.dir, map[string][]byte{name: data}) }

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

var early = time.Unix(1_000_000_000, 0)

// step is something that happens, and what is so after looks.
type step struct {
	do    func(s *scene)
	looks int
	have  string // answers
	news  string
}

// What happens to files, one step after the other; p.wasm, which answers p=1, is there first.
func TestLook(t *testing.T) {
	put := func(name string, data []byte) func(*scene) {
		return func(s *scene) { s.put(name, data) }
	}
	remove := func(names ...string) func(*scene) {
		return func(s *scene) {
			for _, name := range names {
				s.must(os.RemoveAll(s.path(name)))
			}
		}
	}
	rename := func(from, to string) func(*scene) {
		return func(s *scene) { s.must(os.Rename(s.path(from), s.path(to))) }
	}
	nothing := func(*scene) {}
	v1, v2, v3 := version(1, "p"), version(2, "p"), version(3, "p")
	for name, steps := range map[string][]step{
		"nothing": {{nothing, 3, "p=1", ""}},
		"written in place": {
			{put("p.wasm", v2), 1, "p=1", ""},
			{nothing, 1, "p=2", "~p"},
			{nothing, 2, "p=2", ""},
		},
		"renamed over": {
			{put(".p.tmp", v2), 2, "p=1", ""},
			{rename(".p.tmp", "p.wasm"), 2, "p=2", "~p"},
		},
		"touched": {{func(s *scene) { s.must(os.Chtimes(s.path("p.wasm"), early, early)) }, 2, "p=1", ""}},
		"the same bytes again": {
			{put("x.tmp", v1), 0, "p=1", ""},
			{rename("x.tmp", "p.wasm"), 2, "p=1", ""},
		},
		"written slowly": {
			{put("p.wasm", nil), 1, "p=1", ""},
			{put("p.wasm", v2[:100]), 1, "p=1", ""},
			{put("p.wasm", v2[:len(v2)-1]), 1, "p=1", ""},
			{put("p.wasm", v2), 1, "p=1", ""},
			{nothing, 1, "p=2", "~p"},
		},
		"half of it for long": {
			{put("p.wasm", v2[:100]), 2, "p=1", "!p"},
			{nothing, 2, "p=1", ""},
			{put("p.wasm", v2), 2, "p=2", "~p"},
		},
		"a new one each time": {
			{put("p.wasm", v2), 1, "p=1", ""},
			{put("p.wasm", v3), 1, "p=1", ""},
			{put("p.wasm", v2), 1, "p=1", ""},
			{nothing, 1, "p=2", "~p"},
		},
		"another for a moment": {
			{put("p.wasm", v2), 1, "p=1", ""},
			{put("p.wasm", v1), 3, "p=1", ""},
		},
		"broken": {
			{put("p.wasm", spoilt("p")), 2, "p=1", "!p"},
			{put("p.wasm", []byte("no module")), 2, "p=1", "!p"},
			{put("p.wasm", v1), 2, "p=1", ""},
			{put("p.wasm", v2), 2, "p=2", "~p"},
		},
		"broken, and then gone": {
			{put("p.wasm", spoilt("p")), 2, "p=1", "!p"},
			{remove("p.wasm"), 2, "", "-p"},
		},
		"what editors leave": {
			{put(".p.wasm.swp", v2), 2, "p=1", ""},
			{put("p.wasm~", v2), 2, "p=1", ""},
			{put("4913", nil), 2, "p=1", ""},
			{put("#p.wasm#", v2), 2, "p=1", ""},
			{rename("p.wasm", "p.wasm~"), 1, "p=1", ""},
			{put("p.wasm", v2), 2, "p=2", "~p"},
		},
		"gone for a moment": {
			{remove("p.wasm"), 1, "p=1", ""},
			{put("p.wasm", v1), 2, "p=1", ""},
			{remove("p.wasm"), 1, "p=1", ""},
			{put("p.wasm", v2), 2, "p=2", "~p"},
		},
		"gone, and back": {
			{remove("p.wasm"), 2, "", "-p"},
			{nothing, 2, "", ""},
			{put("p.wasm", v1), 1, "", ""},
			{nothing, 1, "p=1", "+p"},
		},
		"there for a moment": {
			{put("q.wasm", version(1, "q")), 1, "p=1", ""},
			{remove("q.wasm"), 3, "p=1", ""},
		},
		"the directory is gone for a moment": {
			{func(s *scene) { s.must(os.Rename(s.dir, s.dir+".old")) }, 1, "p=1", ""},
			{func(s *scene) { s.must(os.Rename(s.dir+".old", s.dir)) }, 2, "p=1", ""},
		},
		"the directory is gone, and back": {
			{remove("."), 2, "", "-p"},
			{put("p.wasm", v2), 2, "p=2", "+p"},
		},
		"a folder": {
			{put("f/plugin.wasm", version(1, "f")), 2, "f=1 p=1", "+f"},
			{put("f/plugin.wasm", version(2, "f")), 2, "f=2 p=1", "~f"},
			{put("f/wasmagent.toml", nil), 2, "f=2 p=1", "!f"},
			{remove("f/wasmagent.toml"), 2, "f=2 p=1", ""},
			{remove("f"), 2, "p=1", "-f"},
		},
		"other tools": {
			{put("p.wasm", version(2, "q", "r")), 2, "q=2 r=2", "~p"},
			{put("p.wasm", version(3, "q")), 2, "q=3", "~p"},
		},
		"many at once": {
			{func(s *scene) {
				s.put("q.wasm", version(4, "q"))
				s.put("r.wasm", spoilt("r")[:50])
				s.put("p.wasm", version(2, "p", "p2"))
			}, 2, "p=2 p2=2 q=4", "!r +q ~p"},
		},
		"somebody else's tool": {
			{put("a.wasm", version(7, "p", "a")), 2, "a=7 p=1", "!tool:p +a"},
			{put("p.wasm", v2), 2, "a=7 p=2", "~p"},
			{remove("p.wasm"), 2, "a=7 p=7", "-p"},
			{put("p.wasm", v2), 2, "a=7 p=7", "!tool:p +p"},
			{put("a.wasm", version(8, "a")), 2, "a=8 p=2", "~a"},
		},
		"a tool that moves": {
			{func(s *scene) {
				s.put("p.wasm", version(2, "q"))
				s.put("z.wasm", version(3, "p"))
			}, 2, "p=3 q=2", "+z ~p"},
		},
		"a namesake": {
			{put("p/plugin.wasm", version(5, "p5")), 2, "p=1", "!p"},
			{put("p.wasm", v2), 2, "p=2", "~p"},
			{remove("p.wasm"), 2, "p5=5", "+p -p"},
			{nothing, 1, "p5=5", ""},
		},
	} {
		t.Run(name, func(t *testing.T) { follow(t, options(t), v1, steps) })
		t.Run(name+", read once", func(t *testing.T) { follow(t, settled(t), v1, steps) })
	}
}

func follow(t *testing.T, opts *loader.Options, p []byte, steps []step) {
	dir := filepath.Join(t.TempDir(), "plugins")
	write(t, dir, map[string][]byte{"p.wasm": p})
	opts.CodeMemory = 1 // what idles can only come back from what is kept
	s := newScene(t, dir, opts)
	for i, step := range steps {
		step.do(s)
		s.looks(step.looks)
		if have, news := s.answers(), s.news(); have != step.have || news != step.news {
			t.Errorf("step %d: have %q, news %q, want %q, %q", i, have, news, step.have, step.news)
		}
	}
}

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

// What is kept fits; one byte more, and what was needed longest ago goes.
func TestVersionsAtTheirEdge(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "versions")
	const max = 30
	for _, tt := range []struct {
		name string
		size int    // of the last of three; the others have 10 bytes
		want string // those that are kept
	}{
		{"all fit", 10, "abc"},
		{"one byte more", 11, "bc"},
		{"room for itself alone", 30, "c"},
		{"too large, and needed", 31, "c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			start, put, has := loader.NewVersions(dir, max)
			if err := errors.Join(os.RemoveAll(dir), start()); err != nil {
				t.Fatal(err)
			}
			for i, size := range []int{10, 10, tt.size} {
				name := string(rune('a' + i))
				if err := put(name, make([]byte, size)); err != nil {
					t.Fatal(err)
				}
				if i < 2 { // the system's clock has steps
					at := early.Add(time.Duration(i) * time.Hour)
					if err := os.Chtimes(filepath.Join(dir, name+".wasm"), at, at); err != nil {
						t.Fatal(err)
					}
				}
			}
			kept := ""
			for _, name := range []string{"a", "b", "c"} {
				if has(name) {
					kept += name
				}
			}
			if kept != tt.want {
				t.Errorf("kept %q, want %q", kept, tt.want)
			}
		})
	}
}

// Bytes that somebody has touched are not what is kept.
func TestKeptVersionIsHashed(t *testing.T) {
	dir, opts := t.TempDir(), options(t)
	write(t, dir, map[string][]byte{"p.wasm": version(1, "p")})
	opts.CodeMemory = 1
	s := newScene(t, dir, opts)
	s.put("p.wasm", []byte("no module"))
	s.looks(2)
	files, err := filepath.Glob(filepath.Join(opts.CacheDir, "versions", "*.wasm"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	s.must(os.WriteFile(files[0], version(3, "p"), 0o600))
	_, err = s.reg.Call(t.Context(), plugins.Call{Tool: "p"})
	if _, ok := errors.AsType[*loader.ChangedError](err); !ok {
		t.Errorf("%v", err)
	}
}
