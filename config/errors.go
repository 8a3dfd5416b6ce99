package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxProblems is how many mistakes are told at once.
const MaxProblems = 10

// ErrNoProvider is the error of a configuration that names no provider to run with.
var ErrNoProvider = errors.New("no provider is configured")

// Error is a mistake in a file or a flag.
type Error struct {
	File   string // "" for an override
	Line   int    // 0: the file as a whole
	Key    string // "" where it is not about one
	From   string // of an override
	Detail string
	Err    error // what is behind it; may be nil
}

func (e *Error) Error() string {
	at := cmp.Or(e.File, e.From)
	if e.Line > 0 {
		at += fmt.Sprintf(":%d", e.Line)
	}
	parts := slices.DeleteFunc([]string{at, e.Key, e.Detail}, func(s string) bool { return s == "" })
	return strings.Join(parts, ": ")
}

func (e *Error) Unwrap() error { return e.Err }

// problems are the mistakes of one file.
type problems struct {
	file string
	list []*Error
}

func (p *problems) add(line int, key, format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	p.list = append(p.list, &Error{File: p.file, Line: line, Key: visible(key, maxWord),
		Detail: visible(detail, maxDetail)})
}

func (p *problems) full() bool { return len(p.list) >= MaxProblems }

// err joins the mistakes in the order of their lines.
func (p *problems) err() error {
	slices.SortStableFunc(p.list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key))
	})
	all := make([]error, len(p.list))
	for i, e := range p.list {
		all[i] = e
	}
	return errors.Join(all...)
}
