package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/wasmagent/wasmagent/host"
)

// What is at its limit is taken, and one more is refused.
func TestEdges(t *testing.T) {
	many := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line, i)
		}
		return b.String()
	}
	text := func(n int) string {
		return "[plugins.x.env]\nA = \"" + strings.Repeat("x", n) + "\"\n"
	}
	list := func(n int) string {
		return "[plugins.x]\nexclude = [" + many(n, "\"t%d\",") + "]\n"
	}
	names := func(n int) string { return "[plugins.x.env]\n" + many(n, "A%d = \"1\"\n") }
	mounts := func(n int) string {
		return "[plugins.x]\nfiles = [" + many(n, "{ scratch = true, guest = \"/t%d\" },") + "]\n"
	}
	limit := func(name string, n int) string {
		return fmt.Sprintf("[plugins.x.limits]\n%s = \"%d B\"\n", name, n)
	}
	for what, in := range map[string][2]string{
		"a text":       {text(maxText), text(maxText + 1)},
		"a list":       {list(maxList), list(maxList + 1)},
		"names":        {names(maxPlugins), names(maxPlugins + 1)},
		"mounts":       {mounts(host.MaxMounts), mounts(host.MaxMounts + 1)},
		"memory":       {limit("memory", host.MaxMemory), limit("memory", host.MaxMemory+1)},
		"least memory": {limit("memory", 64<<10), limit("memory", 64<<10-1)},
		"time": {"[defaults.limits]\ntime = \"24h\"\n",
			"[defaults.limits]\ntime = \"24h0m0.000000001s\"\n"},
		"instances": {"[defaults.limits]\ninstances = 4096\n", "[defaults.limits]\ninstances = 4097\n"},
		"a port": {"plugins.x.http = [{ host = \"a.b\", port = 65535 }]\n",
			"plugins.x.http = [{ host = \"a.b\", port = 65536 }]\n"},
		"the ceiling": {"[ceiling.limits]\nfuel = 5\n[plugins.x.limits]\nfuel = 5\n",
			"[ceiling.limits]\nfuel = 5\n[plugins.x.limits]\nfuel = 6\n"},
	} {
		if _, _, err := parse("f", in[0], nil); err != nil {
			t.Errorf("%s at its limit: %v", what, err)
		}
		if _, _, err := parse("f", in[1], nil); err == nil {
			t.Errorf("%s past its limit is taken", what)
		}
	}
}

// A ceiling bounds also what nobody said anything about.
func TestCeilingOfDefaults(t *testing.T) {
	for i := range limits {
		l := &limits[i]
		low := bounds{}
		l.set(&low, l.least)
		if have := boundsOf(nil, nil, limitSet{l.name: l.least}); have != low {
			t.Errorf("%s is %+v under the least ceiling", l.name, have)
		}
		high := boundsOf(nil, nil, limitSet{l.name: l.most})
		if l.usual > 0 && high != (bounds{}) || l.usual == 0 && high == (bounds{}) {
			t.Errorf("%s is %+v under the highest ceiling", l.name, high)
		}
	}
}
