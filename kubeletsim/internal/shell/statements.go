package shell

import (
	"context"
	"errors"
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/shelltree"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

func (s *Shell) stmts(ctx context.Context, list []*syntax.Stmt) error {
	for i, stmt := range list {
		if err := s.stmt(ctx, stmt); err != nil {
			return err
		}
		if s.lasts(list[i+1:]) {
			s.status = unknown.Succeeded
			return &jump{kind: jumpExit}
		}
	}
	return nil
}

func (s *Shell) stmt(ctx context.Context, stmt *syntax.Stmt) error {
	if err := s.step(ctx); err != nil {
		return err
	}
	if s.options["noexec"] {
		return nil
	}
	s.line = stmt.Position.Line()
	if stmt.Background {
		return s.background(ctx, stmt)
	}
	if stmt.Coprocess || stmt.Disown {
		return s.fail("coprocesses are not simulated")
	}
	mark := s.held
	defer func() { s.release(mark) }()
	if stmt.Negated {
		s.guarded++
		defer func() { s.guarded-- }()
	}
	processes := len(s.processes)
	err := s.redirected(ctx, stmt)
	if endErr := s.endProcesses(ctx, processes); err == nil {
		err = endErr
	}
	if err != nil {
		return err
	}
	if stmt.Negated {
		s.status = truth{!unknown.Holds(s.status), !unknown.Known(s.status)}.status()
		return nil
	}
	return s.checkError(ctx, stmt.Cmd)
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// redirected executes a statement's command with its redirections, which stay for an exec without a program.
func (s *Shell) redirected(ctx context.Context, stmt *syntax.Stmt) error {
	if len(stmt.Redirs) == 0 {
		return s.command(ctx, stmt.Cmd)
	}
	saved := make(map[int]*stream)
	ok, err := s.redirect(ctx, stmt.Redirs, saved)
	if err == nil && ok {
		err = s.command(ctx, stmt.Cmd)
	} else if err == nil {
		s.status = 1
	}
	if call, isCall := stmt.Cmd.(*syntax.CallExpr); ok && isCall && len(call.Args) == 1 && call.Args[0].Lit() == "exec" {
		for _, old := range saved {
			old.close()
		}
		return err
	}
	for fd, old := range saved {
		s.files[fd].close()
		s.files[fd] = old
		if old == nil {
			delete(s.files, fd)
		}
	}
	return err
}

// checkError ends the shell after a command that failed, with set -e, and executes the handler of ERR.
func (s *Shell) checkError(ctx context.Context, cmd syntax.Command) error {
	if s.status == 0 || !unknown.Known(s.status) || s.guarded > 0 || !s.options["errexit"] && s.onError == "" {
		return nil
	}
	switch cmd := cmd.(type) {
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.AndStmt || cmd.Op == syntax.OrStmt {
			return nil
		}
	case *syntax.CallExpr, *syntax.Subshell, *syntax.ArithmCmd, *syntax.TestClause, *syntax.DeclClause, *syntax.LetClause, nil:
	default:
		return nil
	}
	if s.onError != "" && !s.handling {
		s.handling = true
		err := s.handle(ctx, s.onError)
		s.handling = false
		if err != nil {
			return err
		}
	}
	if s.options["errexit"] {
		return &jump{kind: jumpExit}
	}
	return nil
}

// condition executes statements whose failure set -e ignores.
func (s *Shell) condition(ctx context.Context, list []*syntax.Stmt) error {
	s.guarded++
	defer func() { s.guarded-- }()
	return s.stmts(ctx, list)
}

func (s *Shell) command(ctx context.Context, cmd syntax.Command) error {
	switch cmd := cmd.(type) {
	case nil:
		s.status = 0
		return nil
	case *syntax.CallExpr:
		return s.call(ctx, cmd)
	case *syntax.BinaryCmd:
		if cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll {
			return s.pipeline(ctx, cmd)
		}
		return s.list(ctx, cmd)
	case *syntax.DeclClause:
		return s.declareClause(ctx, cmd)
	case *syntax.FuncDecl:
		return s.define(cmd)
	case *syntax.ArithmCmd:
		return s.count(ctx, cmd.X)
	case *syntax.LetClause:
		for _, expr := range cmd.Exprs {
			if err := s.count(ctx, expr); err != nil {
				return err
			}
		}
		return nil
	case *syntax.TestClause:
		holds, err := s.testClause(ctx, cmd.X, 0)
		if err == nil {
			s.status = holds.status()
		}
		return err
	}
	return s.nested(func() error { return s.compound(ctx, cmd) })
}

func (s *Shell) compound(ctx context.Context, cmd syntax.Command) error {
	switch cmd := cmd.(type) {
	case *syntax.Block:
		return s.stmts(ctx, cmd.Stmts)
	case *syntax.Subshell:
		return s.inSubshell(ctx, cmd.Stmts)
	case *syntax.IfClause:
		return s.branch(ctx, cmd)
	case *syntax.WhileClause:
		return s.while(ctx, cmd)
	case *syntax.ForClause:
		return s.forClause(ctx, cmd)
	case *syntax.CaseClause:
		return s.caseClause(ctx, cmd)
	case *syntax.TimeClause:
		return s.timed(ctx, cmd)
	}
	return s.fail("coprocesses and test declarations are not simulated")
}

// count executes an expression, whose status is 0 unless its value is.
func (s *Shell) count(ctx context.Context, expr syntax.ArithmExpr) error {
	n, err := s.arithmetic(ctx, expr)
	if errors.Is(err, errUnknownNumber) {
		s.status = unknown.Succeeded
		return nil
	}
	s.status = oneIf(n == 0)
	return err
}

// list executes commands with && and || between them. The parser nests them to the left.
func (s *Shell) list(ctx context.Context, cmd *syntax.BinaryCmd) error {
	first, rest := leftmost(cmd, func(op syntax.BinCmdOperator) bool { return op == syntax.AndStmt || op == syntax.OrStmt })
	if err := s.condition(ctx, []*syntax.Stmt{first}); err != nil {
		return err
	}
	for i, next := range rest {
		if !s.goesTo(next) {
			continue
		}
		run := s.condition
		if i == len(rest)-1 {
			run = s.stmts
		}
		if err := run(ctx, []*syntax.Stmt{next.Y}); err != nil {
			return err
		}
	}
	return nil
}

// goesTo reports whether the command on the right of && or || is executed after the status of the left.
func (s *Shell) goesTo(next *syntax.BinaryCmd) bool {
	right := []*syntax.Stmt{next.Y}
	if next.Op == syntax.AndStmt {
		return s.decide(right, nil)
	}
	return !s.decide(nil, right)
}

// leftmost takes a tree of binary commands apart, without recursion: its first statement, and the
// commands whose right sides follow.
func leftmost(cmd *syntax.BinaryCmd, among func(syntax.BinCmdOperator) bool) (*syntax.Stmt, []*syntax.BinaryCmd) {
	rest := []*syntax.BinaryCmd{cmd}
	for {
		left := rest[len(rest)-1].X
		next, ok := left.Cmd.(*syntax.BinaryCmd)
		if !ok || !among(next.Op) || left.Negated || left.Background || len(left.Redirs) > 0 {
			slices.Reverse(rest)
			return left, rest
		}
		rest = append(rest, next)
	}
}

func (s *Shell) branch(ctx context.Context, cmd *syntax.IfClause) error {
	for ; cmd != nil; cmd = cmd.Else {
		if len(cmd.Cond) == 0 { // an else has none
			return s.stmts(ctx, cmd.Then)
		}
		if err := s.condition(ctx, cmd.Cond); err != nil {
			return err
		}
		if s.decide(cmd.Then, otherwise(cmd)) {
			return s.stmts(ctx, cmd.Then)
		}
	}
	s.status = 0
	return nil
}

// otherwise returns the statements of an else that ends an if.
func otherwise(cmd *syntax.IfClause) []*syntax.Stmt {
	if cmd.Else != nil && len(cmd.Else.Cond) == 0 {
		return cmd.Else.Then
	}
	return nil
}

func (s *Shell) while(ctx context.Context, cmd *syntax.WhileClause) error {
	status, endless := 0, alwaysHolds(cmd)
	if endless {
		s.waiting++
		defer func() { s.waiting-- }()
	}
	for {
		if err := s.turn.Step(ctx); err != nil {
			return err
		}
		s.loops++
		s.waiting++
		err := s.condition(ctx, cmd.Cond)
		s.waiting--
		s.loops--
		if done, err := leaveLoop(err); done || err != nil {
			return err
		}
		if !unknown.Known(s.status) || (s.status == 0) == cmd.Until { // a wait for the unknown ends
			s.status = status
			return nil
		}
		if done, err := s.round(ctx, cmd.Do); done || err != nil {
			return err
		}
		status = s.status
	}
}

// round executes a loop's body once and reports whether the loop is over.
func (s *Shell) round(ctx context.Context, body []*syntax.Stmt) (done bool, err error) {
	s.loops++
	defer func() { s.loops-- }()
	return leaveLoop(s.stmts(ctx, body))
}

// leaveLoop handles break and continue at the end of a loop's round.
func leaveLoop(err error) (done bool, left error) {
	j := jumped(err)
	switch {
	case j == nil || j.kind != jumpBreak && j.kind != jumpContinue:
		return false, err
	case j.n > 1:
		return true, &jump{kind: j.kind, n: j.n - 1}
	}
	return j.kind == jumpBreak, nil
}

func (s *Shell) forClause(ctx context.Context, cmd *syntax.ForClause) error {
	if loop, ok := cmd.Loop.(*syntax.CStyleLoop); ok {
		return s.forCount(ctx, loop, cmd.Do)
	}
	loop := cmd.Loop.(*syntax.WordIter) // there are two kinds only
	items := s.params
	if loop.InPos.IsValid() {
		var err error
		if items, err = s.fields(ctx, loop.Items); err != nil {
			return err
		}
	}
	if cmd.Select {
		return s.choose(ctx, loop.Name.Value, items, cmd.Do)
	}
	if len(items) == 0 {
		s.status = 0
	}
	for _, item := range items {
		if err := s.turn.Step(ctx); err != nil {
			return err
		}
		if err := s.assign(loop.Name.Value, item); err != nil {
			return err
		}
		if done, err := s.round(ctx, cmd.Do); done || err != nil {
			return err
		}
	}
	return nil
}

// forCount executes for ((...; ...; ...)).
func (s *Shell) forCount(ctx context.Context, loop *syntax.CStyleLoop, body []*syntax.Stmt) error {
	evaluate := func(expr syntax.ArithmExpr) (int64, error) {
		if expr == nil {
			return 1, nil
		}
		return s.arithmetic(ctx, expr)
	}
	if _, err := evaluate(loop.Init); err != nil && !errors.Is(err, errUnknownNumber) {
		return err
	}
	for {
		if err := s.turn.Step(ctx); err != nil {
			return err
		}
		if n, err := evaluate(loop.Cond); err != nil || n == 0 {
			if errors.Is(err, errUnknownNumber) {
				err = nil
			}
			return err
		}
		if done, err := s.round(ctx, body); done || err != nil {
			return err
		}
		if _, err := evaluate(loop.Post); err != nil && !errors.Is(err, errUnknownNumber) {
			return err
		}
	}
}

func (s *Shell) caseClause(ctx context.Context, cmd *syntax.CaseClause) error {
	text, err := s.text(ctx, cmd.Word)
	if err != nil {
		return err
	}
	through, executed := false, false
	for i, item := range cmd.Items {
		matched := through
		for j := 0; j < len(item.Patterns) && !matched; j++ {
			got, err := s.matches(ctx, item.Patterns[j], text)
			if err != nil {
				return err
			}
			matched = got.holds && !(got.unknown && s.avoids(cmd.Items, i))
		}
		if !matched {
			continue
		}
		if executed = true; len(item.Stmts) == 0 {
			s.status = 0
		}
		if err := s.stmts(ctx, item.Stmts); err != nil {
			return err
		}
		through = item.Op == syntax.Fallthrough
		if !through && item.Op != syntax.Resume {
			return nil
		}
	}
	if !executed {
		s.status = 0
	}
	return nil
}

// avoids reports whether an item of a case that may be the right one leads to worse than a later one.
func (s *Shell) avoids(items []*syntax.CaseItem, at int) bool {
	own := s.consequence(items[at].Stmts, 0)
	for _, later := range items[at+1:] {
		if s.consequence(later.Stmts, 0) < own {
			return true
		}
	}
	return own > goesOn
}

// define defines a function, whose tree stays in memory after the script that it is from.
func (s *Shell) define(cmd *syntax.FuncDecl) error {
	n := int64(cmd.Body.End().Offset()-cmd.Pos().Offset()) * shelltree.TreeBytes
	if err := s.Container.Reserve(n); err != nil {
		return err
	}
	s.owned += n
	name := cmd.Name.Value
	if old := s.functions[name]; old != nil && old.reserved > 0 && !s.subshell {
		s.Container.Release(old.reserved)
		s.owned -= old.reserved
	}
	f := &function{body: cmd.Body, reserved: n}
	if s.subshell {
		f.reserved = 0 // it is released with the subshell
	}
	s.functions[name] = f
	s.status = 0
	return nil
}
