package ledger

import (
	"context"
	"database/sql"
	"errors"
)

// prepared is a connection whose statements are prepared once. A call has ten of them and a list
// some for each run, which take longer to prepare than to carry out.
type prepared struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt // by their text
}

func prepare(conn *sql.Conn) *prepared { return &prepared{conn, map[string]*sql.Stmt{}} }

func (p *prepared) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if s := p.stmts[query]; s != nil {
		return s, nil
	}
	s, err := p.conn.PrepareContext(ctx, query)
	if err == nil {
		p.stmts[query] = s
	}
	return s, err
}

// QueryContext implements queryer.
func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows,
	error) {
	s, err := p.stmt(ctx, query)
	if err != nil {
		return nil, err
	}
	return s.QueryContext(ctx, args...)
}

// QueryRowContext implements queryer.
func (p *prepared) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	s, err := p.stmt(ctx, query)
	if err != nil {
		return p.conn.QueryRowContext(ctx, query, args...) // it has the same error
	}
	return s.QueryRowContext(ctx, args...)
}

func (p *prepared) close() error {
	var errs []error
	for _, s := range p.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
