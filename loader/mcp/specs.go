package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/internal/near"
	"github.com/wasmagent/wasmagent/plugins"
)

// list asks the server for its tools that are wanted, and the names of all, in as many pages as it likes up to MaxPages,
// and stops reading when there are more than it may have, or they are too big.
func list(ctx context.Context, session *sdk.ClientSession, server *Server) (
	tools []*sdk.Tool, names []string, more bool, err error) {
	if init := session.InitializeResult(); init.Capabilities == nil || init.Capabilities.Tools == nil {
		return nil, nil, false, nil
	}
	params, size := &sdk.ListToolsParams{}, 0
	for range MaxPages {
		page, err := session.ListTools(ctx, params)
		if err != nil {
			return nil, nil, false, err
		}
		for _, tool := range page.Tools {
			if len(names) < abi.MaxTools && len(tool.Name) <= MaxNameBytes {
				names = append(names, tool.Name)
			}
			if len(server.Tools) > 0 && !slices.Contains(server.Tools, tool.Name) {
				continue
			}
			if size += sizeOf(tool); size > MaxListBytes {
				return tools, names, true, nil
			}
			tools = append(tools, tool)
		}
		if most := server.Limits.Tools; len(tools) > most {
			return tools[:most], names, true, nil
		}
		if page.NextCursor == "" {
			return tools, names, false, nil
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return tools, names, true, nil
}

// sizeOf is how many bytes of JSON a tool takes.
func sizeOf(tool *sdk.Tool) int {
	text, _ := json.Marshal(tool) // it came as JSON
	return len(text)
}

// offer is what becomes of a server's tools: what is offered, by offered name, and the rest, each
// with its reason.
type offer struct {
	scrub    func(string) string
	specs    map[string]offered
	withheld []Withheld
	names    []string // the server's own, of all tools that it has
	unmet    []string // tools that have a rule and are not in the list, sorted
}

type offered struct {
	original   string
	spec       abi.ToolSpec
	rule       plugins.Rule
	definition definition
}

// definition is a digest of all that a server says of a tool.
type definition [sha256.Size]byte

func definitionOf(tool *sdk.Tool) definition {
	text, err := json.Marshal([]any{tool.Title, tool.Description, tool.InputSchema, tool.OutputSchema,
		tool.Annotations})
	if err != nil {
		return definition{} // it came as JSON
	}
	return sha256.Sum256(text)
}

// noSuchTool is what is wrong with a rule that has no tool.
const noSuchTool = "the server has no such tool"

// meant says which tool a name may stand for that the server does not have, or which there are.
func (o *offer) meant(name string) string {
	names := make([]string, 0, len(o.names))
	var closest string
	least := max(1, len(name)/3) + 1
	for _, other := range o.names {
		shown := abi.CleanText(o.scrub(other), maxWord)
		names = append(names, shown)
		far := near.Distance(strings.ToLower(name[:min(len(name), MaxNameBytes)]), strings.ToLower(other))
		if far < least {
			closest, least = shown, far
		}
	}
	switch {
	case closest != "":
		return fmt.Sprintf("; did you mean %q?", closest)
	case len(names) == 0:
		return "; it has none"
	}
	slices.Sort(names)
	return "; it has " + strings.Join(some(names), ", ")
}

// newOffer makes an offer of a list, without secrets. One bad tool never hides another.
func newOffer(server *Server, tools []*sdk.Tool, names []string, more bool,
	scrub func(string) string) *offer {
	o := &offer{specs: map[string]offered{}, names: names, scrub: scrub}
	met := map[string]bool{}
	claims := map[string][]string{} // by offered name: the originals that come to it and are fit
	schemas := 0
	for _, tool := range tools {
		met[tool.Name] = true
		name := offeredName(server.prefix(), tool.Name)
		definition := definitionOf(tool) // before it is cleaned
		spec, reason := o.specOf(name, tool)
		if size := len(spec.InputSchema) + len(spec.OutputSchema); reason == "" {
			if schemas += size; schemas > MaxSchemas {
				reason = fmt.Sprintf("the server's schemas are past %d bytes together", MaxSchemas)
			}
		}
		if reason != "" {
			o.withhold(tool.Name, reason)
			continue
		}
		claims[name] = append(claims[name], tool.Name)
		rule := server.Rules[tool.Name]
		if rule.Effect != nil {
			spec.Effect = *rule.Effect
		}
		o.specs[name] = offered{tool.Name, spec, rule, definition}
	}
	o.dropCollisions(claims)
	if more {
		o.withhold("", fmt.Sprintf("the server has more than %d tools, or more than %d pages or "+
			"%d bytes of them", server.Limits.Tools, MaxPages, MaxListBytes))
	}
	for _, name := range server.Tools {
		if !met[name] && !more {
			o.withhold(name, "it is included, and "+noSuchTool+o.meant(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(server.Rules)) {
		if !met[name] && !more {
			o.unmet = append(o.unmet, name)
		}
	}
	slices.SortFunc(o.withheld, func(a, b Withheld) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Reason, b.Reason))
	})
	return o
}

func (o *offer) withhold(tool, reason string) {
	o.withheld = append(o.withheld, Withheld{abi.CleanText(o.scrub(tool), maxWord), reason})
}

// dropCollisions takes a name from all tools that come to it: which of them a call would reach
// would be decided by the server.
func (o *offer) dropCollisions(claims map[string][]string) {
	for name, originals := range claims {
		if len(originals) < 2 {
			continue
		}
		delete(o.specs, name)
		for _, original := range originals {
			o.withhold(original, fmt.Sprintf("%d of the server's tools come to the name %s",
				len(originals), name))
		}
	}
}

// specOf is what is offered of a tool, or why it is not. Its effect is write: a server's hints are
// nobody's word, and an operator's rule may say otherwise.
func (o *offer) specOf(name string, tool *sdk.Tool) (spec abi.ToolSpec, reason string) {
	switch {
	case tool.Name == "" || len(tool.Name) > MaxNameBytes:
		return spec, fmt.Sprintf("its name has %d bytes, want 1 to %d", len(tool.Name), MaxNameBytes)
	case o.scrub(tool.Name) != tool.Name || o.scrub(name) != name:
		return spec, "its name has a secret in it"
	}
	words := o.scrub(cmp.Or(tool.Description, tool.Title))
	spec = abi.ToolSpec{Name: name, Description: abi.CleanText(words, abi.MaxTextChars)}
	var err error
	if spec.InputSchema, err = o.schemaText(tool.InputSchema); err == nil {
		spec.OutputSchema, err = o.schemaText(tool.OutputSchema)
	}
	if err == nil {
		err = plugins.CheckSpec(spec)
	}
	if err != nil {
		return spec, abi.CleanText(err.Error(), abi.MaxTextChars)
	}
	return spec, ""
}

// schemaText is a schema's text with the words for people and models cleaned; "" when there is none.
func (o *offer) schemaText(schema any) (string, error) {
	if schema == nil {
		return "", nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(cleanSchema(schema)); err != nil {
		return "", fmt.Errorf("a schema has no JSON form: %w", err)
	}
	return string(scrubJSON(bytes.TrimSpace(b.Bytes()), o.scrub)), nil
}

// cleanSchema cleans titles, descriptions and comments. Values that arguments are held against stay
// as they are.
func cleanSchema(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, field := range v {
			text, isText := field.(string)
			switch {
			case isText && (key == "description" || key == "title" || key == "$comment"):
				v[key] = abi.CleanText(text, abi.MaxTextChars)
			case key == "enum" || key == "const" || key == "default" || key == "examples":
			default:
				v[key] = cleanSchema(field)
			}
		}
	case []any:
		for i := range v {
			v[i] = cleanSchema(v[i])
		}
	}
	return v
}
