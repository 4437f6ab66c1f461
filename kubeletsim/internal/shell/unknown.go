package shell

import (
	"errors"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// truth is whether a test holds. An unknown one has the value that is assumed.
type truth struct{ holds, unknown bool }

func known(holds bool) truth   { return truth{holds: holds} }
func assumed(holds bool) truth { return truth{holds: holds, unknown: true} }

func (t truth) not() truth { return truth{!t.holds, t.unknown} }

// and is the conjunction: what is known to be false makes it false.
func (t truth) and(other truth) truth {
	switch {
	case !t.unknown && !t.holds, !other.unknown && !other.holds:
		return known(false)
	}
	return truth{t.holds && other.holds, t.unknown || other.unknown}
}

func (t truth) or(other truth) truth { return t.not().and(other.not()).not() }

// status returns the exit status of a test.
func (t truth) status() int {
	if t.unknown {
		return unknown.Status | oneIf(!t.holds)
	}
	return oneIf(!t.holds)
}

// unless returns a truth that is unknown if one of the texts is, with what is assumed then.
func unless(holds, otherwise bool, texts ...string) truth {
	for _, text := range texts {
		if unknown.In(text) {
			return assumed(otherwise)
		}
	}
	return known(holds)
}

// errUnknownNumber means that an expression depends on an unknown text.
var errUnknownNumber = errors.New("the number is unknown")

// The consequences of a list of statements, as far as they show without executing them, from the best to
// the worst.
const (
	goesOn = iota
	waits
	breaks
)

// maxForesight bounds how deep functions are followed for their consequences.
const maxForesight = 8

// consequence returns where statements lead in a straight line: to a failure, to the next round of a loop,
// or on.
func (s *Shell) consequence(list []*syntax.Stmt, depth int) int {
	worst := goesOn
	for i, stmt := range list {
		got, ends := s.stmtConsequence(stmt, depth, i == len(list)-1)
		worst = max(worst, got)
		if ends || worst == breaks {
			break
		}
	}
	return worst
}

func (s *Shell) stmtConsequence(stmt *syntax.Stmt, depth int, last bool) (worst int, ends bool) {
	if depth > maxForesight || stmt.Background || stmt.Negated {
		return goesOn, false
	}
	switch cmd := stmt.Cmd.(type) {
	case *syntax.Block:
		return s.consequence(cmd.Stmts, depth+1), false
	case *syntax.Subshell:
		if last {
			return s.consequence(cmd.Stmts, depth+1), false
		}
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.AndStmt {
			return s.consequence([]*syntax.Stmt{cmd.X, cmd.Y}, depth+1), false
		}
	case *syntax.CallExpr:
		return s.callConsequence(cmd, depth, last)
	}
	return goesOn, false
}

func (s *Shell) callConsequence(cmd *syntax.CallExpr, depth int, last bool) (worst int, ends bool) {
	if len(cmd.Args) == 0 {
		return goesOn, false
	}
	name := cmd.Args[0].Lit()
	if f := s.functions[name]; f != nil {
		return s.consequence([]*syntax.Stmt{f.body}, depth+1), false
	}
	arg := ""
	if len(cmd.Args) > 1 {
		arg = cmd.Args[len(cmd.Args)-1].Lit()
	}
	switch name {
	case "exit", "return":
		if arg != "" && arg != "0" {
			return breaks, true
		}
		return goesOn, true
	case "false":
		if last {
			return breaks, true
		}
	case "kill":
		return breaks, false
	case "continue":
		return waits, true
	case "break", "exec":
		return goesOn, true
	}
	return goesOn, false
}

// lasts reports whether the command that has just ended is assumed to last, because nothing but a failure
// follows it in a container that runs until it is stopped: server; exit 1.
func (s *Shell) lasts(rest []*syntax.Stmt) bool {
	return s.Lasts && len(rest) > 0 && !unknown.Known(s.status) && s.guarded == 0 && s.consequence(rest, 0) == breaks
}

// awaits reports whether a file that may be there is not: a loop waits for it, and the image, in which
// nothing unknown has run, does not change by itself.
func (s *Shell) awaits() bool { return s.waiting > 0 && !s.Container.Changing() }

// alwaysHolds reports whether the condition of a loop is a constant.
func alwaysHolds(cmd *syntax.WhileClause) bool {
	if len(cmd.Cond) != 1 {
		return false
	}
	call, ok := cmd.Cond[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	name := call.Args[0].Lit()
	return name == "true" || name == ":" || name == "false"
}

// decide returns whether the first of two branches is taken after a condition with the status. An unknown
// status decides as it is assumed to be, but for a branch that leads to worse than the other. $? then agrees
// with the decision.
func (s *Shell) decide(then, otherwise []*syntax.Stmt) bool {
	holds := unknown.Holds(s.status)
	if unknown.Known(s.status) {
		return holds
	}
	first, second := s.consequence(then, 0), s.consequence(otherwise, 0)
	if holds && first > second || !holds && second > first {
		holds = !holds
		s.status = assumed(holds).status()
	}
	return holds
}
