package plugins

import (
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins/internal/schema"
)

// Registry keeps tools by name and calls them. It is safe for concurrent use.
type Registry struct {
	opts Options

	mu      sync.RWMutex
	entries map[string]*entry
	met     map[string]bool // the rules that have had their tool
	changed chan struct{}   // closed at the next change; nil when nobody asked for it
	checked atomic.Bool     // every rule has had its tool
}

// entry is a tool with all that is made of its spec once.
type entry struct {
	tool          Tool
	spec          abi.ToolSpec // its Effect is the effective one
	input         *schema.Schema
	output        *schema.Schema // nil when the tool does not describe its result
	key           *keyPath
	scope         string
	retryTimeouts bool
	refused       atomic.Int32 // calls in a row whose input the schema allowed and the tool did not
}

// NewRegistry returns a registry without tools.
func NewRegistry(opts *Options) *Registry {
	r := &Registry{entries: map[string]*entry{}, met: map[string]bool{}}
	if opts != nil {
		r.opts = *opts
	}
	return r
}

var toolName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// CheckSpec tells why no registry would take a tool of this spec, because of its name or a schema;
// nil: any would.
func CheckSpec(spec abi.ToolSpec) error {
	_, _, err := compileSpec(&spec)
	return err
}

// compileSpec compiles a spec's schemas and puts the texts that are to be offered, which may be
// normalised, into the spec. output is nil when there is none.
func compileSpec(spec *abi.ToolSpec) (input, output *schema.Schema, err error) {
	if !toolName.MatchString(spec.Name) {
		return nil, nil, fmt.Errorf("want a name like %s", toolName)
	}
	if input, err = schema.CompileArguments(spec.InputSchema); err != nil {
		return nil, nil, fmt.Errorf("input schema: %w", err)
	}
	spec.InputSchema = input.Text
	if strings.TrimSpace(spec.OutputSchema) == "null" {
		spec.OutputSchema = ""
	}
	if spec.OutputSchema != "" {
		if output, err = schema.Compile(spec.OutputSchema); err != nil {
			return nil, nil, fmt.Errorf("output schema: %w", err)
		}
		spec.OutputSchema = output.Text
	}
	return input, output, nil
}

// newEntry makes of a tool's spec what its calls need. The entry has its name even on an error.
func (r *Registry) newEntry(t Tool) (e *entry, err error) {
	e = &entry{tool: t, spec: t.Spec(), scope: r.opts.Scope}
	if e.input, e.output, err = compileSpec(&e.spec); err != nil {
		return e, err
	}
	rule, named := r.opts.Rules[e.spec.Name]
	if own, ok := t.(Ruler); ok && !named {
		rule = own.Rule()
	}
	if err := e.obey(rule); err != nil {
		return e, err
	}
	if s, ok := t.(Scoper); ok {
		e.scope = s.Scope()
	}
	return e, nil
}

// obey takes over what the operator decided about the tool.
func (e *entry) obey(rule Rule) error {
	e.retryTimeouts = rule.RetryTimeouts
	if rule.Effect != nil {
		if *rule.Effect > abi.EffectIdempotent {
			return fmt.Errorf("the rule's effect %d is none", *rule.Effect)
		}
		e.spec.Effect = *rule.Effect
	}
	if rule.Key == "" {
		return nil
	}
	key, err := parseKeyPath(rule.Key)
	if err != nil {
		return err
	}
	e.key = &key
	return nil
}

// Check gives a *RuleError for rules whose tools have never been there. A program calls it when it
// has added its tools; Call runs nothing before it is nil, since a mistyped name would leave a tool
// without the key or the effect that its operator wanted. A tool that is removed later leaves its
// rule behind for when it comes back.
func (r *Registry) Check() error {
	if r.checked.Load() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	var lost []string
	for name := range r.opts.Rules {
		if !r.met[name] {
			lost = append(lost, name)
		}
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		return &RuleError{Tools: lost, Have: r.names()}
	}
	r.checked.Store(true)
	return nil
}

// Specs lists the tools, sorted by name, with the schemas that their calls are held against.
func (r *Registry) Specs() iter.Seq[abi.ToolSpec] {
	return func(yield func(abi.ToolSpec) bool) {
		r.mu.RLock()
		entries := slices.Collect(maps.Values(r.entries))
		r.mu.RUnlock()
		slices.SortFunc(entries, func(a, b *entry) int {
			return strings.Compare(a.spec.Name, b.spec.Name)
		})
		for _, e := range entries {
			if !yield(e.spec) {
				return
			}
		}
	}
}

// names lists the tools' names, sorted. The lock is held.
func (r *Registry) names() []string { return slices.Sorted(maps.Keys(r.entries)) }

// find is the first step of a call.
func (r *Registry) find(name string) (*entry, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e := r.entries[name]; e != nil {
		return e, nil
	}
	return nil, &UnknownToolError{Tool: name, Have: r.names()}
}
