package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/config"
	"github.com/wasmagent/wasmagent/host"
	"github.com/wasmagent/wasmagent/host/egress"
	"github.com/wasmagent/wasmagent/internal/tomlfile"
	"github.com/wasmagent/wasmagent/loader"
)

// document is what a file says of plugins. docs/policy.md tells what each key means.
type document struct {
	Defaults defaults                  `toml:"defaults"`
	Ceiling  ceiling                   `toml:"ceiling"`
	Plugins  map[string]*section       `toml:"plugins"`
	Servers  map[string]*serverSection `toml:"servers"`

	sessions string // the folder of sessions, where the file names one
}

type defaults struct {
	Limits    limitSet `toml:"limits"`
	Isolation string   `toml:"isolation"`
}

type ceiling struct {
	Limits limitSet `toml:"limits"`
}

// section is what a file says of one plugin.
type section struct {
	Limits       limitSet             `toml:"limits"`
	Isolation    string               `toml:"isolation"`
	Prefix       bool                 `toml:"prefix"`
	Exclude      []string             `toml:"exclude"`
	TrustEffects bool                 `toml:"trust_effects"`
	Tools        map[string]*toolRule `toml:"tools"`

	Kind      string                   `toml:"kind"`
	Engine    string                   `toml:"engine"`
	Functions map[string]*functionRule `toml:"functions"`

	HTTP    []httpRule        `toml:"http"`
	KV      bool              `toml:"kv"`
	Files   []mount           `toml:"files"`
	Env     map[string]string `toml:"env"`
	Config  map[string]any    `toml:"config"`
	Secrets []secret          `toml:"secrets"`

	at      string // its path in the file
	raw     any    // as the file has it
	sources []egress.Secret
	config  map[string]abi.Raw
}

type toolRule struct {
	Effect        string `toml:"effect"`
	Key           string `toml:"key"`
	RetryTimeouts bool   `toml:"retry_timeouts"`
}

// httpRule is an egress.Rule as a file has it.
type httpRule struct {
	Host            string   `toml:"host"`
	Scheme          string   `toml:"scheme"`
	Port            int      `toml:"port"`
	Path            string   `toml:"path"`
	Methods         []string `toml:"methods"`
	Addresses       []string `toml:"addresses"`
	SecretsOverHTTP bool     `toml:"secrets_over_http"`
}

type mount struct {
	Host    string `toml:"host"`
	Guest   string `toml:"guest"`
	Mode    string `toml:"mode"`
	Scratch bool   `toml:"scratch"`
}

type secret struct {
	Name  string   `toml:"name"`
	From  string   `toml:"from"`
	As    string   `toml:"as"`
	Hosts []string `toml:"hosts"`
}

// parse reads what a file says of plugins, which are of these kinds. What it says of runs is passed
// over. All mistakes are told together.
func parse(file, content string, kinds []string) (*document, *decoder, error) {
	top, lines, err := tomlfile.Parse(content)
	if e, ok := errors.AsType[*tomlfile.Error](err); ok {
		return nil, nil, &config.Error{File: file, Line: e.Line, Detail: e.Detail, Err: e.Err}
	}
	d := &decoder{file: file, lines: lines, kinds: kinds}
	doc := &document{sessions: sessionsOf(top, file)}
	for _, name := range config.Sections() {
		delete(top, name)
	}
	d.value("", top, reflect.ValueOf(doc).Elem())
	if err := d.err(); err != nil {
		return nil, nil, err
	}
	if doc.Defaults.Isolation != "" && !isIsolation(doc.Defaults.Isolation) {
		d.add("defaults.isolation", "want snapshot or instantiate, have %s",
			show(doc.Defaults.Isolation))
	}
	doc.Defaults.Limits.under(d, "defaults.limits", doc.Ceiling.Limits)
	all, _ := top["plugins"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(doc.Plugins)) {
		s := doc.Plugins[name]
		s.at, s.raw = tomlfile.Join("plugins", name), all[name]
		if !loader.IsName(name) {
			d.add(s.at, "no plugin can have this name")
			continue
		}
		s.check(d, doc)
	}
	doc.checkServers(d)
	if err := d.err(); err != nil {
		return nil, nil, err
	}
	return doc, d, nil
}

// sessionsOf gives the folder of sessions that a file names, as the package config resolves it.
func sessionsOf(top map[string]any, file string) string {
	core, _ := top["core"].(map[string]any)
	dir, _ := core["sessions"].(string)
	if dir == "" || filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(filepath.Dir(file), dir)
}

func isIsolation(s string) bool { return s == "snapshot" || s == "instantiate" }

// check complains of what no plugin could be given.
func (s *section) check(d *decoder, doc *document) {
	s.Limits.under(d, tomlfile.Join(s.at, "limits"), doc.Ceiling.Limits)
	switch {
	case s.Isolation != "" && !isIsolation(s.Isolation):
		d.add(s.at+".isolation", "want snapshot or instantiate, have %s", show(s.Isolation))
	case s.Isolation == "snapshot" && doc.Defaults.Isolation == "instantiate":
		d.add(s.at+".isolation", "snapshot is laxer than defaults.isolation, instantiate (line %d)",
			d.lines.Of("defaults.isolation"))
	}
	s.checkTools(d)
	s.checkFunctions(d)
	s.checkHTTP(d)
	s.checkFiles(d)
	s.checkValues(d)
}

func (s *section) checkTools(d *decoder) {
	checkRules(d, s.at, s.Tools)
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		if slices.Contains(s.Exclude, name) {
			d.add(tomlfile.Join(s.at+".tools", name), "the tool is excluded: a rule for it does nothing")
		}
	}
}

// checkHTTP has the client that would carry the requests judge the rules and the secrets.
func (s *section) checkHTTP(d *decoder) {
	for i, sec := range s.Secrets {
		from, err := egress.ParseSource(sec.From)
		if err != nil {
			d.add(fmt.Sprintf("%s.secrets[%d].from", s.at, i), "%v", err)
			from = func(context.Context) (string, error) { return "", nil } // told once
		}
		s.sources = append(s.sources, egress.Secret{
			Name: sec.Name, From: from, Hosts: sec.Hosts, As: sec.As,
		})
	}
	if len(s.Secrets) > 0 && len(s.HTTP) == 0 {
		d.add(s.at+".secrets", "secrets go into requests, and there are no http rules")
	}
	client, err := egress.New(&egress.Options{Rules: s.rules(), Secrets: s.sources})
	if err == nil {
		if err := client.Close(); err != nil {
			d.add(s.at+".http", "%v", err)
		}
		return
	}
	for _, e := range unjoin(err) {
		at, detail := s.at+".http", e.Error()
		if bad, ok := errors.AsType[*egress.ConfigError](e); ok {
			at, detail = s.at+"."+strings.Replace(bad.Field, "rules", "http", 1), bad.Detail
			if bad.Value != "" {
				detail = show(bad.Value) + " " + detail
			}
		}
		d.add(at, "%s", detail)
	}
}

// unjoin gives the errors that were joined.
func unjoin(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return all.Unwrap()
	}
	return []error{err}
}

func (s *section) rules() []egress.Rule {
	rules := make([]egress.Rule, len(s.HTTP))
	for i, r := range s.HTTP {
		rules[i] = egress.Rule(r)
	}
	return rules
}

func (s *section) checkFiles(d *decoder) {
	if len(s.Files) > host.MaxMounts {
		d.add(s.at+".files", "more than %d mounts", host.MaxMounts)
		return
	}
	for i, m := range s.Files {
		at := fmt.Sprintf("%s.files[%d]", s.at, i)
		if !path.IsAbs(m.Guest) || path.Clean(m.Guest) != m.Guest {
			d.add(at+".guest", "want an absolute path without ., .. and doubled slashes, have %s",
				show(m.Guest))
		}
		m.checkHost(d, at)
		for j, other := range s.Files[:i] {
			if inside(m.Guest, other.Guest) || inside(other.Guest, m.Guest) {
				d.add(at+".guest", "%s and files[%d], %s, lie in each other", show(m.Guest), j,
					show(other.Guest))
			}
		}
	}
}

func (m *mount) checkHost(d *decoder, at string) {
	switch {
	case m.Scratch && (m.Host != "" || m.Mode != ""):
		d.add(at, "a scratch mount has neither host nor mode: it is empty at every call, and gone "+
			"after it")
	case m.Scratch:
	case !filepath.IsAbs(m.Host):
		d.add(at+".host", "want an absolute path, have %s: nothing is expanded", show(m.Host))
	case m.Mode != "ro" && m.Mode != "rw":
		d.add(at+".mode", "want ro or rw, have %s", show(m.Mode))
	}
}

// inside tells whether a guest path is another one, or below it.
func inside(guest, dir string) bool {
	return guest == dir || strings.HasPrefix(guest, strings.TrimSuffix(dir, "/")+"/")
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,199}$`)

func (s *section) checkValues(d *decoder) {
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if !variableName.MatchString(name) {
			d.add(tomlfile.Join(s.at+".env", name), "no environment variable can have this name")
		}
	}
	s.config = map[string]abi.Raw{}
	for _, name := range slices.Sorted(maps.Keys(s.Config)) {
		value, err := appendValue(nil, s.Config[name])
		if err != nil {
			d.add(tomlfile.Join(s.at+".config", name), "%v", err)
		}
		s.config[name] = value
	}
}

// appendValue gives a value the form that a guest reads.
func appendValue(dst []byte, v any) (abi.Raw, error) {
	switch v := v.(type) {
	case string:
		return abi.AppendString(dst, v), nil
	case bool:
		return abi.AppendBool(dst, v), nil
	case int64:
		return abi.AppendInt(dst, v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, errors.New("a number has to be finite")
		}
		return abi.AppendFloat64(dst, v), nil
	case map[string]any:
		return appendTable(dst, v)
	}
	items, ok := listOf(v)
	if !ok {
		return nil, errors.New("a date has no form for plugins: write it as a text")
	}
	raw := abi.AppendArrayHeader(dst, len(items))
	for _, item := range items {
		var err error
		if raw, err = appendValue(raw, item); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

func appendTable(dst []byte, table map[string]any) (raw abi.Raw, err error) {
	raw = abi.AppendMapHeader(dst, len(table))
	for _, name := range slices.Sorted(maps.Keys(table)) {
		if raw, err = appendValue(abi.AppendString(raw, name), table[name]); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// grants tells whether the plugin can reach anything.
func (s *section) grants() bool {
	return len(s.HTTP)+len(s.Files)+len(s.Env)+len(s.Config)+len(s.Secrets) > 0 || s.KV
}
