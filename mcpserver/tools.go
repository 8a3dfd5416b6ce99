package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wasmagent/wasmagent/abi"
	"github.com/wasmagent/wasmagent/plugins"
)

// watch follows the registry's changes. changed is closed at the first one.
func (s *Server) watch(changed <-chan struct{}) {
	for {
		select {
		case <-changed:
		case <-s.life.Done():
			return
		}
		s.settle()
		changed = s.registry.Changed()
		s.sync()
	}
}

// settle waits until the registry has been still for a while, but not for ever.
func (s *Server) settle() {
	late := time.After(ChangeDelay)
	for {
		select {
		case <-s.registry.Changed():
		case <-time.After(ChangeQuiet):
			return
		case <-late:
			return
		case <-s.life.Done():
			return
		}
	}
}

// offer is a tool as clients see it and what a call of it does.
type offer struct {
	tool   *mcp.Tool
	own    bool // of the server itself
	handle mcp.ToolHandler
}

// print is the same for offers that are the same to clients.
func (o offer) print() (string, error) {
	text, err := json.Marshal(o.tool)
	return fmt.Sprintf("own %t: %s", o.own, text), err
}

// sync brings what clients see up to what the registry has. Clients are told when that changes.
func (s *Server) sync() {
	specs := slices.Collect(s.registry.Specs())
	s.found.Store(newIndex(specs))
	var gone []string
	offers := s.offers(specs)
	defer s.shown.Store(&offers)
	for name := range s.offered {
		if _, ok := offers[name]; !ok {
			delete(s.offered, name)
			gone = append(gone, name)
		}
	}
	s.mcp.RemoveTools(gone...)
	for name, o := range offers {
		print, err := o.print()
		if err == nil && s.offered[name] == print {
			continue
		}
		if err == nil {
			err = s.add(o)
		}
		if err != nil {
			s.log.Warn("tool not offered to clients", "tool", name, "err", err)
			if s.offered[name] != "" {
				s.mcp.RemoveTools(name)
				delete(s.offered, name)
			}
			delete(offers, name)
			continue
		}
		s.offered[name] = print
	}
}

// add hands a tool to the protocol's library, which panics on what it does not like: one tool must
// not end them all.
func (s *Server) add(o offer) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the protocol has no form for it: %v", v)
		}
	}()
	s.mcp.AddTool(o.tool, o.handle)
	return nil
}

// offers is what clients are to see, by name: the registry's tools, or the means to find and call
// them. Names of our own win.
func (s *Server) offers(specs []abi.ToolSpec) map[string]offer {
	own := []string{readMore}
	search := s.opts.Discover || len(specs) > s.opts.DirectTools
	switch {
	case len(specs) == 0 && !search:
		own = nil
	case search:
		own = append(own, searchTools, callTool)
	case slices.ContainsFunc(specs, func(spec abi.ToolSpec) bool { return spec.Name == readMore }):
		own = append(own, callTool) // how the registry's own read_more is reached
	}
	offers, before := map[string]offer{}, s.warned
	s.warned = map[string]struct{}{}
	for _, spec := range specs {
		s.warn(spec.Name, own, before)
		if !search && !slices.Contains(own, spec.Name) {
			offers[spec.Name] = s.direct(spec)
		}
	}
	for spec := range s.own.Specs() {
		if slices.Contains(own, spec.Name) {
			offers[spec.Name] = s.ownOffer(spec)
		}
	}
	return offers
}

// warn tells the operator of a name that clients may have trouble with, once as long as it is there.
// Where names come from a server that changes them for ever, only some are told.
func (s *Server) warn(name string, own []string, before map[string]struct{}) {
	why := ""
	switch {
	case slices.Contains(own, name):
		why = "a tool of the server has this name: it is reached by call_tool"
	case len(name) > abi.WarnToolNameBytes:
		why = fmt.Sprintf("some clients cut names of more than %d characters", abi.WarnToolNameBytes)
	default:
		return
	}
	s.warned[name] = struct{}{}
	if _, ok := before[name]; !ok {
		s.refusals.warn("tool's name: "+why, "tool", name)
	}
}

// direct is a tool of the registry that clients call by its name.
func (s *Server) direct(spec abi.ToolSpec) offer {
	tool, now := shown(spec), promiseOf(spec.OutputSchema)
	if now.schema != nil {
		tool.OutputSchema = now.schema
	}
	handle := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		given := &sessionOf(ctx).given
		before, known := given.of(spec.Name, now.schema)
		res, err := s.run(ctx, req, spec.Name, req.Params.Arguments)
		if _, gone := errors.AsType[*plugins.UnknownToolError](err); gone {
			return nil, unknown(spec.Name, false)
		}
		if err != nil {
			return s.failed(ctx, spec.Name, err)
		}
		after, still := given.of(spec.Name, now.schema)
		ran := now
		if res.OutputSchema != now.spec { // it was replaced since it was offered
			ran = promiseOf(res.OutputSchema)
		}
		if !known || !still || !bytes.Equal(before, after) || !bytes.Equal(ran.schema, after) {
			return result(sessionOf(ctx), res, nil, true), nil
		}
		return result(sessionOf(ctx), res, ran.structure(res.Value), false), nil
	}
	return offer{tool, false, handle}
}

// ownOffer is a tool of the server itself.
func (s *Server) ownOffer(spec abi.ToolSpec) offer {
	return offer{shown(spec), true,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res, err := s.ask(ctx, plugins.Call{Tool: spec.Name, Input: orNothing(req.Params.Arguments)})
			if spec.Name == callTool && err == nil {
				return s.callByName(ctx, req, res.Value)
			}
			return s.answer(ctx, spec.Name, res, err)
		}}
}

// ask calls a tool of the server itself.
func (s *Server) ask(ctx context.Context, call plugins.Call) (plugins.Result, error) {
	leave, err := s.asks.enter(ctx, sessionOf(ctx).asks)
	if err != nil {
		return plugins.Result{}, err
	}
	defer leave()
	return s.own.Call(ctx, call)
}

// shown is a tool as clients see it, but for its output schema.
func shown(spec abi.ToolSpec) *mcp.Tool {
	return &mcp.Tool{
		Name:        spec.Name,
		Description: abi.CleanText(spec.Description, abi.MaxTextChars),
		InputSchema: plainSchema(spec.InputSchema),
		Annotations: hints(spec.Effect),
	}
}

// hints say what calling a tool may do to the world.
func hints(effect abi.Effect) *mcp.ToolAnnotations {
	switch effect {
	case abi.EffectRead:
		return &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: new(false)}
	case abi.EffectIdempotent:
		return &mcp.ToolAnnotations{IdempotentHint: true, DestructiveHint: new(true)}
	}
	return &mcp.ToolAnnotations{DestructiveHint: new(true)}
}
