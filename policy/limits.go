package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/internal/tomlfile"
	"github.com/wasmagent/wasmagent/loader/mcp"
)

// limit is one number that bounds a plugin: in nanoseconds, inBytes, or as a count.
type limit struct {
	name        string
	unit        unit
	least, most int64
	usual       int64 // what counts when no section says anything; 0: no limit
	set         func(b *bounds, n int64)
}

// bounds is where the limits of a plugin go.
type bounds struct {
	host   host.Limits
	egress egress.Limits
	mount  host.Mount // Bytes and Files, of each mount
	server mcp.Limits
}

type unit uint8

const (
	inCount unit = iota // a count
	inBytes
	inTime
)

const (
	maxTime  = int64(24 * time.Hour)
	maxBytes = 1 << 30
	maxCount = 1_000_000
)

// limits are all there are. To add one is to add a line here, a line of docs/policy.md, and a test
// that it bites.
var limits = []limit{
	{"time", inTime, int64(time.Millisecond), maxTime, int64(host.DefaultTime),
		func(b *bounds, n int64) { b.host.Time = time.Duration(n) }},
	{"load", inTime, int64(time.Millisecond), maxTime, int64(host.DefaultLoad),
		func(b *bounds, n int64) { b.host.Load = time.Duration(n) }},
	{"grace", inTime, int64(time.Millisecond), int64(time.Minute), int64(host.DefaultGrace),
		func(b *bounds, n int64) { b.host.Grace = time.Duration(n) }},
	{"fuel", inCount, 1, 1 << 62, 0, func(b *bounds, n int64) { b.host.Fuel = n }},
	{"memory", inBytes, 64 << 10, host.MaxMemory, host.DefaultMemory,
		func(b *bounds, n int64) { b.host.Memory = n }},
	{"request", inBytes, 1, maxBytes, host.DefaultRequest,
		func(b *bounds, n int64) { b.host.Request = n }},
	{"output", inBytes, 1, maxBytes, host.DefaultOutput,
		func(b *bounds, n int64) { b.host.Output = n }},
	{"stdio", inBytes, 1, maxBytes, host.DefaultStdio,
		func(b *bounds, n int64) { b.host.Stdio = n }},
	{"log_rate", inCount, 1, maxCount, host.DefaultLogRate,
		func(b *bounds, n int64) { b.host.LogRate = int(n) }},
	{"module", inBytes, 1, maxBytes, host.DefaultModule,
		func(b *bounds, n int64) { b.host.Module = n }},
	{"instances", inCount, 1, 4096, host.DefaultInstances,
		func(b *bounds, n int64) { b.host.Instances = int(n) }},
	{"http_time", inTime, int64(time.Millisecond), maxTime, int64(egress.DefaultTime),
		func(b *bounds, n int64) { b.egress.Time = time.Duration(n) }},
	{"http_request", inBytes, 1, maxBytes, egress.DefaultRequest,
		func(b *bounds, n int64) { b.egress.Request = n }},
	{"http_response", inBytes, 1, maxBytes, egress.DefaultResponse,
		func(b *bounds, n int64) { b.egress.Response = n }},
	{"http_headers", inBytes, 1, 1 << 20, egress.DefaultHeaders,
		func(b *bounds, n int64) { b.egress.Headers = n }},
	{"http_concurrent", inCount, 1, 1024, egress.DefaultConcurrent,
		func(b *bounds, n int64) { b.egress.Concurrent = int(n) }},
	{"kv_keys", inCount, 1, maxCount, host.DefaultKVKeys,
		func(b *bounds, n int64) { b.host.KVKeys = int(n) }},
	{"kv_bytes", inBytes, 1, maxBytes, host.DefaultKVBytes,
		func(b *bounds, n int64) { b.host.KVBytes = n }},
	{"mount_bytes", inBytes, 1, 1 << 40, host.DefaultMountBytes,
		func(b *bounds, n int64) { b.mount.Bytes = n }},
	{"mount_files", inCount, 1, maxCount, host.DefaultMountFiles,
		func(b *bounds, n int64) { b.mount.Files = int(n) }},
}

// limitSet is what one section says of limits, by name.
type limitSet map[string]int64

func (l *limitSet) decode(d *decoder, at string, raw any) {
	table, ok := raw.(map[string]any)
	if !ok {
		d.add(at, "want a table, have %s", show(raw))
		return
	}
	*l = limitSet{}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		path := tomlfile.Join(at, name)
		known := findLimit(name)
		if known == nil {
			d.add(path, "there is no such limit%s", meant(name, limitNames()))
			continue
		}
		n, ok := known.parse(table[name])
		if !ok {
			d.add(path, "want %s, have %s", known.wants(), show(table[name]))
			continue
		}
		(*l)[name] = n
	}
}

func findLimit(name string) *limit {
	i := slices.IndexFunc(limits, func(l limit) bool { return l.name == name })
	if i < 0 {
		return nil
	}
	return &limits[i]
}

func limitNames() []string {
	var names []string
	for i := range limits {
		names = append(names, limits[i].name)
	}
	return names
}

// parse reads a limit as it is written: a count as a number, the others as texts with units.
func (l *limit) parse(raw any) (n int64, ok bool) {
	text, _ := raw.(string)
	switch l.unit {
	case inTime:
		d, err := time.ParseDuration(text)
		n, ok = int64(d), err == nil
	case inBytes:
		n, ok = parseSize(text)
	default:
		n, ok = raw.(int64)
	}
	return n, ok && n >= l.least && n <= l.most
}

func (l *limit) wants() string {
	least, most := l.text(l.least), l.text(l.most)
	switch l.unit {
	case inTime:
		return fmt.Sprintf(`a time such as "30s", from %s to %s`, least, most)
	case inBytes:
		return fmt.Sprintf(`a size such as "64 KiB", from %s to %s`, least, most)
	}
	return fmt.Sprintf("a whole number from %s to %s", least, most)
}

// text writes a value of a limit as a file has it, but for the quotes.
func (l *limit) text(n int64) string {
	switch l.unit {
	case inTime:
		return time.Duration(n).String()
	case inBytes:
		return sizeText(n)
	}
	return strconv.FormatInt(n, 10)
}

var sizes = []struct {
	name  string
	bytes int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

func parseSize(text string) (int64, bool) {
	for _, s := range sizes {
		if digits, ok := strings.CutSuffix(text, s.name); ok {
			n, err := strconv.ParseInt(strings.TrimSuffix(digits, " "), 10, 32)
			return n * s.bytes, err == nil
		}
	}
	return 0, false
}

func sizeText(n int64) string {
	for _, s := range sizes {
		if n%s.bytes == 0 {
			return fmt.Sprintf("%d %s", n/s.bytes, s.name)
		}
	}
	return ""
}

// under complains of what a section says beyond the ceiling.
func (l limitSet) under(d *decoder, at string, ceiling limitSet) {
	for _, name := range slices.Sorted(maps.Keys(l)) {
		most, bounded := ceiling[name]
		if known := findLimit(name); bounded && l[name] > most {
			d.add(tomlfile.Join(at, name), "%s is more than ceiling.limits.%s, %s (line %d)",
				known.text(l[name]), name, known.text(most),
				d.lines.Of("ceiling.limits."+name))
		}
	}
}

// boundsOf puts the limits of a plugin together: what its section says, else the defaults, else
// what is usual, and never more than the ceiling.
func boundsOf(own, defaults, ceiling limitSet) (b bounds) {
	for i := range limits {
		l := &limits[i]
		n, said := own[l.name]
		if !said {
			n, said = defaults[l.name]
		}
		if most, bounded := ceiling[l.name]; bounded {
			if !said {
				n = l.usual
			}
			if n == 0 || n > most {
				n, said = most, true
			}
		}
		if said {
			l.set(&b, n)
		}
	}
	return b
}
