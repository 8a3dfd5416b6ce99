package main

import (
	"context"
	"sync"

	"github.com/wasmagent/wasmagent/plugins"
	"github.com/wasmagent/wasmagent/plugins/ledger"
)

// openingLedger opens the ledger's file, and makes it if need be, once there is something to
// record.
type openingLedger struct {
	app *app

	mu   sync.Mutex
	book *ledger.SQLite
}

func (l *openingLedger) open(ctx context.Context) (*ledger.SQLite, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.book == nil {
		opened, err := l.app.openLedger(ctx, nil)
		if err != nil {
			return nil, err
		}
		l.book = opened
	}
	return l.book, nil
}

// Begin implements plugins.Ledger.
func (l *openingLedger) Begin(ctx context.Context, in plugins.Intent) (plugins.Begun, error) {
	book, err := l.open(ctx)
	if err != nil {
		return plugins.Begun{}, err
	}
	return book.Begin(ctx, in)
}

// Recall implements plugins.Recaller.
func (l *openingLedger) Recall(ctx context.Context, at plugins.Place) (plugins.Begun, error) {
	book, err := l.open(ctx)
	if err != nil {
		return plugins.Begun{}, err
	}
	return book.Recall(ctx, at)
}

// End implements plugins.Ledger.
func (l *openingLedger) End(ctx context.Context, id string, c plugins.Completion) error {
	return l.book.End(ctx, id, c)
}
