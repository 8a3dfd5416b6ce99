package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The kinds of an Origin.
const (
	FromDefault     = "default"
	FromUser        = "user"
	FromProject     = "project"
	FromFlag        = "flag"
	FromEnvironment = "environment"
)

// Origin is where a value comes from.
type Origin struct {
	Kind string // FromDefault, ...
	File string // of a user's or a project's file
	Line int
	Name string // of a flag or variable
}

func (o Origin) String() string {
	switch {
	case o.File != "":
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	case o.Name != "":
		return o.Name
	}
	return o.Kind
}

// value is one that counts. Nil: none.
type value struct {
	at   []string
	v    any
	from []Origin // more than one where layers add to it
}

func (v value) String() string {
	if v.v == nil {
		return "(not set)"
	}
	from := make([]string, len(v.from))
	for i, o := range v.from {
		from[i] = o.String()
	}
	return fmt.Sprintf("%s (%s)", show(v.v), strings.Join(from, ", "))
}

// values are those of the layers so far, by the text of their paths.
type values struct{ set map[string]value }

func (v *values) clone() *values { return &values{maps.Clone(v.set)} }

// get gives what counts at a path: what was set, else the key's default.
func (v *values) get(at []string) value {
	if set, ok := v.set[text(at)]; ok {
		return set
	}
	if k, _ := find(at); k != nil && k.initial != nil {
		return value{at, k.initial, []Origin{{Kind: FromDefault}}}
	}
	return value{at: at}
}

// below lists where the values come from that are set below a path.
func (v *values) below(at []string) (from []string) {
	for _, set := range v.set {
		if len(set.at) > len(at) && slices.Equal(set.at[:len(at)], at) {
			from = append(from, set.from[0].String())
		}
	}
	slices.Sort(from)
	return from
}

// Setting is an effective value.
type Setting struct {
	Key   string
	Value string   // as a file would have it; "(not set)", "(hidden)"
	From  []Origin // more than one where layers add to it
}

// Effective lists every key and what counts, in the order of the documentation; those whose names a
// file chooses only where they are set. Nothing secret is in it.
func (c *Config) Effective() []Setting {
	var all []Setting
	for i := range keys {
		k := &keys[i]
		for _, v := range c.values.of(k) {
			s := Setting{text(v.at), "(not set)", v.from}
			switch {
			case v.v == nil:
				s.From = []Origin{{Kind: FromDefault}}
			case k.secret:
				s.Value = "(hidden)"
			default:
				s.Value = showMost(v.v, maxTold)
			}
			all = append(all, s)
		}
	}
	return all
}

// of gives a key's value, or its values, sorted.
func (v *values) of(k *key) (all []value) {
	if !strings.Contains(k.name, "*") {
		return []value{v.get(strings.Split(k.name, "."))}
	}
	for _, set := range v.set {
		if _, ok := k.match(set.at); ok {
			all = append(all, set)
		}
	}
	slices.SortFunc(all, func(a, b value) int { return cmp.Compare(text(a.at), text(b.at)) })
	return all
}
