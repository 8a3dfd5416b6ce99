package main

import (
	"context"
	"fmt"

	"github.com/wasmagent/wasmagent/agentloop"
	"github.com/wasmagent/wasmagent/agentloop/message"
	"github.com/wasmagent/wasmagent/agentloop/reduce"
	"github.com/wasmagent/wasmagent/agentloop/session"
	"github.com/wasmagent/wasmagent/config"
)

// openReduction has the model shown less of a long conversation, if the configuration says so. A
// session goes on with the view that it had. Where that cannot be made again, the record is what
// counts, and a new one is made.
func (g *agent) openReduction(cfg *config.Config) {
	if !cfg.Capabilities.Reduction.Enabled {
		return
	}
	g.loop.Reduction = &agentloop.Reduction{}
	if g.session == nil {
		return
	}
	g.loop.Reduction.Save = savesTo(g.session)
	log, err := readReductions(g.session.ReadReduction())
	if err == nil {
		err = g.loop.RestoreReductions(log)
	}
	if err != nil {
		g.reduceAnew(err)
	}
}

// reduceAnew says why the session does not go on with the view that it had. The log of that is kept:
// where the session was changed, it is what tells so.
func (g *agent) reduceAnew(err error) {
	kept, lost := g.session.SetReductionAside()
	if lost != nil {
		g.heard.warn(fmt.Sprintf("%v; what the model is shown is reduced anew (%v)", err, lost))
		return
	}
	g.heard.warn(fmt.Sprintf("%v; what the model is shown is reduced anew, and the log that does not "+
		"fit is kept in %s", err, kept))
}

// reductionsOf reads what a model was shown less of a session: nothing, where it was shown all.
func reductionsOf(dir *session.Dir, name string) (reduce.Log, error) {
	return readReductions(dir.ReadReduction(name))
}

// readReductions reads what was stored beside a session, or nothing.
func readReductions(text []byte, err error) (reduce.Log, error) {
	if err != nil || text == nil {
		return nil, err
	}
	return reduce.Decode(text)
}

// savesTo keeps the log of what a model is shown less of a session beside that.
func savesTo(s *session.Session) func(context.Context, reduce.Log) error {
	return func(_ context.Context, log reduce.Log) error {
		return s.WriteReduction(reduce.Encode(log))
	}
}

// shownOf is a session as the model was shown it last, and the log of that. Where that is not to be
// had it is the record, with a warning.
func (a *app) shownOf(dir *session.Dir, name string, list []message.Message) ([]reduce.Item,
	reduce.Log) {
	log, err := reductionsOf(dir, name)
	var items []reduce.Item
	if err == nil {
		items, err = reduce.View(list, log)
	}
	if err != nil {
		a.warn(fmt.Sprintf("%v; all of the session is shown", err))
		return whole(list), nil
	}
	return items, log
}

// whole is a record in which nothing is reduced.
func whole(list []message.Message) []reduce.Item {
	items := make([]reduce.Item, len(list))
	for i := range list {
		items[i] = reduce.Item{Message: list[i], From: i, To: i + 1}
	}
	return items
}
