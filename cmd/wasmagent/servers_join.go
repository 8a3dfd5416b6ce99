package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/wasmagent/wasmagent/loader/mcp"
	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/policy"
)

const (
	// serverGrace is how long those who are served wait for servers at the start: some clients ask
	// for the tools once and do not listen for changes.
	serverGrace = time.Second
	// serverRetryWait is how long a server is left alone that could not be had, and then twice as
	// long each time, up to maxServerRetryWait.
	serverRetryWait    = time.Second
	maxServerRetryWait = 5 * time.Minute
)

// join has servers come in, each by itself, as soon as it is there and however long that takes, until
// stop. What they change about their tools is followed if that is wanted. It returns when all have
// come or could not be had at first, or after serverGrace.
func (a *app) join(ctx context.Context, o *offering, servers []*policy.Server, follow bool) (
	stop func()) {
	ended := ctx.Done()
	ctx, stop = context.WithCancel(context.WithoutCancel(ctx)) // calls may outlast the command's own
	var group, first sync.WaitGroup
	a.onEnd(group.Wait)
	for _, s := range servers {
		first.Add(1)
		group.Go(func() { a.attend(ctx, o, s, follow, sync.OnceFunc(first.Done)) })
	}
	tried := make(chan struct{})
	go func() {
		first.Wait()
		close(tried)
	}()
	grace := time.NewTimer(serverGrace)
	defer grace.Stop()
	select {
	case <-tried:
	case <-grace.C:
	case <-ended:
	}
	return stop
}

// attend takes in a server when it can be had, and then what it changes, until ctx ends.
func (a *app) attend(ctx context.Context, o *offering, s *policy.Server, follow bool, tried func()) {
	defer tried()
	source := await(ctx, a.log.With("server", s.Name), tried, func() (*mcp.Source, error) {
		source, err := s.Open(ctx, a.log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.At, err)
		}
		return source, nil
	})
	if source == nil {
		return
	}
	defer source.Close()
	a.logWithheld(server{s, source}.withheld()...)
	supply := o.addServer(s.Name, s.At)
	var old []plugins.Tool
	for {
		changed := source.Changed()
		if now := source.Tools(); !slices.Equal(old, now) {
			o.change(supply, old, now)
			old = now
		}
		tried()
		if !follow {
			changed = nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// await opens a source, again and again until it can be had. That it cannot be had is
// logged once, and so is that it can after all. It is nil when ctx ends first.
func await(ctx context.Context, log *slog.Logger, tried func(),
	open func() (*mcp.Source, error)) *mcp.Source {
	wait, lost := serverRetryWait, false
	for {
		source, err := open()
		switch {
		case err == nil && lost:
			log.Warn("the server is there now")
			return source
		case err == nil:
			return source
		case ctx.Err() != nil:
			return nil
		case !lost:
			log.Warn("not offered; tried again until it is there", "reason", err)
		default:
			log.Debug("still not there", "reason", err)
		}
		lost = true
		tried()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
		wait = min(2*wait, maxServerRetryWait)
	}
}
