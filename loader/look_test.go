package loader_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wasmagent/wasmagent/abi"
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
		"touched": {
			{func(s *scene) { s.must(os.Chtimes(s.path("p.wasm"), early, early)) }, 2, "p=1", ""},
		},
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
		"a lock": {
			{put("wasmagent.lock", pins("p", v1)), 2, "p=1", ""},
			{put("p.wasm", v2), 2, "p=1", "!p"},
			{put("wasmagent.lock", pins("p", v2)[:30]), 2, "p=1", "!p"},
			{put("wasmagent.lock", pins("p", v2)), 1, "p=1", ""},
			{nothing, 1, "p=2", "~p"},
			{put("wasmagent.lock", pins("p", v3)), 2, "p=2", "!p"},
			{remove("wasmagent.lock"), 2, "p=2", ""},
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

// pins is a lock for one plugin.
func pins(name string, wasm []byte) []byte {
	return fmt.Appendf(nil, "[plugins]\n%s = \"sha256:%x\"\n", name, sha256.Sum256(wasm))
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
