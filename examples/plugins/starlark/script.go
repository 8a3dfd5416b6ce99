package main

import (
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of one script.
const (
	maxCodeBytes    = 256 << 10  // bytes of a script
	maxSteps        = 10_000_000 // instructions of the interpreter: about 5 s in a sandbox
	maxCalls        = 1000       // calls inside each other; looked at every checkEvery steps
	maxPrintedBytes = 64 << 10   // bytes that print may write
	checkEvery      = 256        // steps between two looks at depth and cancellation
)

// dialect is Starlark with what a model expects of a small Python.
var dialect = &syntax.FileOptions{
	Set: true, While: true, TopLevelControl: true, GlobalReassign: true, Recursion: true,
}

// lastValue is the name that a script's last expression is assigned to; no script can write it.
const lastValue = "(last value)"

// script is one run.
type script struct {
	thread    *starlark.Thread
	cancelled func() bool
	maxSteps  uint64
	stopped   *pdk.Failure // why the script was ended, if it was
	printed   strings.Builder
	cut       bool
}

func newScript(cancelled func() bool) *script {
	s := &script{cancelled: cancelled, maxSteps: maxSteps}
	s.thread = &starlark.Thread{Name: "script", Print: s.print, OnMaxSteps: s.check}
	return s
}

// check is called every checkEvery steps, and ends a script that goes on for too long.
func (s *script) check(t *starlark.Thread) {
	steps := t.ExecutionSteps()
	switch {
	case steps > s.maxSteps:
		s.stop("too_many_steps", fmt.Sprintf("more than %d steps; the script may loop for ever",
			s.maxSteps))
	case t.CallStackDepth() > maxCalls:
		s.stop("too_deep", fmt.Sprintf("more than %d calls inside each other", maxCalls))
	case s.cancelled():
		s.stop("cancelled", "the caller has given up")
	default:
		t.SetMaxExecutionSteps(min(steps+checkEvery, s.maxSteps+1))
	}
}

func (s *script) stop(code, why string) {
	s.stopped = failure(code, why)
	s.thread.Cancel(why)
}

func (s *script) print(_ *starlark.Thread, msg string) {
	if s.printed.Len()+len(msg)+1 > maxPrintedBytes {
		s.cut = true
		return
	}
	s.printed.WriteString(msg + "\n")
}

// run executes code and gives the value of its last expression, else of its variable result.
func (s *script) run(code string, names starlark.StringDict) (starlark.Value, error) {
	file, err := dialect.Parse("script", code, 0)
	if err != nil {
		return nil, s.explain(err)
	}
	if n := len(file.Stmts); n > 0 {
		if last, ok := file.Stmts[n-1].(*syntax.ExprStmt); ok {
			at, _ := last.Span()
			file.Stmts[n-1] = &syntax.AssignStmt{
				OpPos: at, Op: syntax.EQ, RHS: last.X,
				LHS: &syntax.Ident{NamePos: at, Name: lastValue},
			}
		}
	}
	program, err := starlark.FileProgram(file, names.Has)
	if err != nil {
		return nil, s.explain(err)
	}
	s.thread.SetMaxExecutionSteps(checkEvery)
	globals, err := program.Init(s.thread, names)
	if err != nil {
		return nil, s.explain(err)
	}
	for _, name := range []string{lastValue, "result"} {
		if v, ok := globals[name]; ok && v != starlark.None {
			return v, nil
		}
	}
	return starlark.None, nil
}

// explain gives err with the line and column where the script went wrong.
func (s *script) explain(err error) error {
	var bad syntax.Error
	if errors.As(err, &bad) {
		return failure("syntax_error", at(bad.Pos)+bad.Msg)
	}
	var unresolved resolve.ErrorList
	if errors.As(err, &unresolved) && len(unresolved) > 0 {
		return failure("syntax_error", at(unresolved[0].Pos)+unresolved[0].Msg)
	}
	var eval *starlark.EvalError
	if !errors.As(err, &eval) {
		return failure("script_error", err.Error())
	}
	if s.stopped != nil {
		return failure(s.stopped.Code, where(eval.CallStack)+s.stopped.Message)
	}
	return failure("script_error", where(eval.CallStack)+eval.Msg)
}

func at(p syntax.Position) string {
	return fmt.Sprintf("line %d, column %d: ", p.Line, p.Col)
}

// where gives the innermost place in the script, and its function.
func where(stack starlark.CallStack) string {
	for i := range stack {
		frame := stack.At(i)
		if frame.Pos.Line == 0 {
			continue // a built-in function
		}
		if frame.Name != "<toplevel>" {
			return fmt.Sprintf("line %d, column %d, in %s: ", frame.Pos.Line, frame.Pos.Col, frame.Name)
		}
		return at(frame.Pos)
	}
	return ""
}
