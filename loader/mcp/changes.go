package mcp

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/wasmagent/wasmagent/abi"
)

var writes = abi.EffectWrite

// changedSince is what the log is told of a tool that is not what its rule was made for.
const changedSince = "the server has changed this tool since its rule was applied: it counts as write"

// hold has the operator's word on what a tool does hold only for what he could look at when he gave
// it: a tool whose description, schemas or hints are not those with which it was first listed counts
// as write until they are again. The lock is held.
func (s *Source) hold(o *offer) {
	for _, name := range slices.Sorted(maps.Keys(o.specs)) {
		is := o.specs[name]
		if is.spec.Effect == abi.EffectWrite {
			continue
		}
		if first, met := s.seen[is.original]; !met {
			s.seen[is.original] = is.definition
		} else if first != is.definition {
			s.news.once(name, changedSince, func(int64) {
				s.log.Warn(changedSince, "tool", name, "effect", is.spec.Effect.String())
			})
			is.rule.Effect, is.rule.RetryTimeouts, is.spec.Effect = &writes, false, abi.EffectWrite
			o.specs[name] = is
		} else {
			s.news.forget(name, changedSince)
		}
	}
}

// weaker reports whether a tool was found by what its rule said before the server changed it.
func (s *Source) weaker(t *tool) bool {
	if t.spec.Effect == abi.EffectWrite {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.tools[t.spec.Name]
	return now != nil && now.original == t.original && now.spec.Effect == abi.EffectWrite
}

// tell logs what is not offered, and which rules have lost their tools. The lock is held.
func (s *Source) tell(o *offer) {
	level := slog.LevelWarn
	if s.tools == nil {
		level = slog.LevelInfo // who opens it tells
	}
	say := func(tool, what, text string) {
		s.news.once(tool, what, func(dropped int64) {
			s.log.Log(context.Background(), level, text, "tool", tool, "dropped", dropped)
		})
	}
	for _, w := range o.withheld {
		say(w.Tool, w.Reason, "not offered: "+abi.CleanText(w.Reason, maxReason))
	}
	for _, name := range o.unmet {
		say(name, noSuchTool, "there is a rule for a tool, and "+noSuchTool)
	}
	for _, name := range s.unmet {
		if !slices.Contains(o.unmet, name) {
			s.news.forget(name, noSuchTool)
		}
	}
}

// take has the offer be what is offered. Tools that stay as they are stay the same. The lock is
// held.
func (s *Source) take(o *offer) {
	var added, changed, removed []string
	tools := map[string]*tool{}
	for _, name := range slices.Sorted(maps.Keys(o.specs)) {
		is, was := o.specs[name], s.tools[name]
		switch {
		case was == nil:
			added = append(added, name)
		case was.offered != is:
			changed = append(changed, name)
		default:
			tools[name] = was
			continue
		}
		tools[name] = &tool{source: s, offered: is}
	}
	for _, name := range slices.Sorted(maps.Keys(s.tools)) {
		if tools[name] == nil {
			removed = append(removed, name)
		}
	}
	if s.tools != nil && len(added)+len(changed)+len(removed) == 0 {
		return
	}
	if s.tools != nil {
		s.news.limit.write(func(dropped int64) {
			s.log.Warn("the server has changed its tools", "added", some(added),
				"changed", some(changed), "removed", some(removed), "dropped", dropped)
		})
	}
	s.tools = tools
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// some are names, at most maxNamed of them.
func some(names []string) []string {
	if more := len(names) - maxNamed; more > 0 {
		return append(slices.Clone(names[:maxNamed]), fmt.Sprintf("and %d more", more))
	}
	return names
}

// relist takes over the server's tools, and tells whoever waits for a change.
func (s *Source) relist(ctx context.Context, c *session) error {
	listed, names, more, err := list(ctx, c.mcp, &s.server)
	if err != nil {
		return err
	}
	o := newOffer(&s.server, listed, names, more, s.scrub)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold(o)
	s.tell(o)
	s.held, s.unmet = o.withheld, o.unmet
	if len(o.unmet) > 0 {
		s.meant = o.meant(o.unmet[0])
	}
	s.take(o)
	return nil
}

// follow lists the tools again when the server says that they have changed, however often it does.
func (s *Source) follow() {
	for {
		select {
		case <-s.life.Done():
			return
		case <-s.stale:
		}
		timer := time.NewTimer(ChangeQuiet)
		select {
		case <-s.life.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		s.mu.Lock()
		c := s.session
		s.mu.Unlock()
		if c == nil || c.isOver() {
			continue // the next start lists
		}
		ctx, cancel := context.WithTimeout(s.life, s.server.Limits.Start)
		if err := s.relist(ctx, c); err != nil && s.life.Err() == nil {
			s.log.Warn("the changed tools could not be listed; the ones from before stay", "err",
				s.shown(err.Error(), MaxLineChars))
		}
		cancel()
	}
}
