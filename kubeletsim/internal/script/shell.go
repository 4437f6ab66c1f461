package script

import (
	"errors"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// shell executes a script as far as that takes only time and output: predictable commands,
// control flow, variables and arithmetic. Everything else is ErrNotPredictable.
type shell struct {
	*Process
	program *Program
	vars    map[string]string
	status  int32
	// out and err receive a command's output.
	out func(text string)
	err func(text string)
	// errexit is set -e. guarded counts the enclosing conditions, in which it is suspended.
	errexit bool
	guarded int
	// changes counts changes of state. A round of a loop without a change equals the next one.
	changes int
	// deciding means that the word under expansion may decide what happens next, so that
	// reading the clock counts as a change.
	deciding bool
	// random generates RANDOM; nil until it is first used.
	random *rand.Rand
	// hidden means that a variable was read whose value only the cluster knows.
	hidden bool
}

// leave is the error with which exit, break and continue unwind.
type leave struct {
	kind string
	n    int
}

func (l *leave) Error() string { return l.kind }

const (
	leaveScript   = "exit"
	leaveLoop     = "break"
	leaveIterator = "continue"
)

func newShell(p *Process, program *Program) *shell {
	s := &shell{Process: p, program: program, vars: map[string]string{}}
	s.out = func(text string) { s.emit("Stdout", text) }
	s.err = func(text string) { s.emit("Stderr", text) }
	return s
}

func (s *shell) emit(to Stream, text string) {
	s.written += strings.Count(text, "\n")
	if s.Write != nil {
		s.Write(to, text)
	}
}

// Get implements expand.Environ.
func (s *shell) Get(name string) expand.Variable {
	if value, ok := s.vars[name]; ok {
		return expand.Variable{Set: true, Kind: expand.String, Str: value}
	}
	if value, ok := s.program.vars.Values[name]; ok {
		return expand.Variable{Set: true, Kind: expand.String, Str: value}
	}
	if name == "?" {
		return expand.Variable{Set: true, Kind: expand.String, Str: itoa(s.status)}
	}
	if name == "RANDOM" {
		return expand.Variable{Set: true, Kind: expand.String, Str: itoa(s.chance())}
	}
	if name != "IFS" && (s.program.vars.HiddenRest || s.program.vars.Hidden[name]) {
		s.hidden = true
	}
	return expand.Variable{}
}

// chance returns the next random number of the run, from 0 to 32767 as in bash. The sequence
// follows from the run's ID. A round of a loop that uses it counts as a change.
func (s *shell) chance() int32 {
	if s.random == nil {
		h := fnv.New64a()
		_, _ = h.Write([]byte(s.program.ID))
		s.random = rand.New(rand.NewPCG(h.Sum64(), 0)) // nothing to be kept secret
	}
	s.changes++
	return s.random.Int32N(1 << 15)
}

// Set implements expand.WriteEnviron, for arithmetic assignments.
func (s *shell) Set(name string, v expand.Variable) error {
	s.set(name, v.Str)
	return nil
}

// Each implements expand.Environ. No program that needs the environment is predictable.
func (s *shell) Each(func(string, expand.Variable) bool) {}

func (s *shell) set(name, value string) {
	if len(value) > maxValue {
		s.hidden = true // it is not followed any more: see known
		return
	}
	if old, ok := s.vars[name]; ok && old == value {
		return
	}
	s.vars[name] = value
	s.changes++
}

func (s *shell) config() *expand.Config {
	return &expand.Config{Env: s, NoUnset: true, CmdSubst: s.substitute}
}

// known maps the error of an expansion to ErrNotPredictable, unless it ends the run.
func (s *shell) known(err error) error {
	switch {
	case s.hidden:
		return ErrNotPredictable
	case err == nil, errors.Is(err, ErrRunsForever), errors.Is(err, ErrStopped):
		return err
	}
	return ErrNotPredictable
}

func (s *shell) words(words []*syntax.Word) ([]string, error) {
	fields, err := expand.Fields(s.config(), words...)
	return fields, s.known(err)
}

// decisive expands a word whose value may decide what happens next.
func (s *shell) decisive(word *syntax.Word) (string, error) {
	if word == nil {
		return "", nil
	}
	defer func(before bool) { s.deciding = before }(s.deciding)
	s.deciding = true
	text, err := expand.Literal(s.config(), word)
	return text, s.known(err)
}

func (s *shell) script(text string) error {
	if strings.Contains(text, "~") { // home directories are not simulated
		return ErrNotPredictable
	}
	file, err := parse(text)
	if err != nil {
		return err
	}
	err = s.stmts(file.Stmts)
	var left *leave
	if errors.As(err, &left) {
		return nil
	}
	return err
}

func (s *shell) stmts(list []*syntax.Stmt) error {
	for _, stmt := range list {
		if err := s.stmt(stmt); err != nil {
			return err
		}
	}
	return nil
}

func (s *shell) stmt(stmt *syntax.Stmt) error {
	if stmt.Background || stmt.Coprocess || stmt.Disown {
		return ErrNotPredictable
	}
	if err := s.spend(); err != nil {
		return err
	}
	restore, err := s.redirect(stmt.Redirs)
	if err != nil {
		return err
	}
	defer restore()
	if stmt.Negated {
		s.guarded++
		defer func() { s.guarded-- }()
	}
	if err := s.command(stmt.Cmd); err != nil {
		return err
	}
	if stmt.Negated {
		s.status = oneIf(s.status == 0)
		return nil
	}
	if s.errexit && s.status != 0 && s.guarded == 0 && simple(stmt.Cmd) {
		return &leave{kind: leaveScript}
	}
	return nil
}

// simple reports whether set -e applies to the command itself rather than to its parts.
func simple(cmd syntax.Command) bool {
	switch cmd.(type) {
	case *syntax.CallExpr, *syntax.Subshell, *syntax.ArithmCmd, *syntax.DeclClause:
		return true
	}
	return false
}

// redirect handles redirections among stdout, stderr and /dev/null.
func (s *shell) redirect(redirs []*syntax.Redirect) (restore func(), err error) {
	out, errOut := s.out, s.err
	for _, r := range redirs {
		from := "1"
		if r.N != nil {
			from = r.N.Value
		}
		target := r.Word.Lit()
		var to func(string)
		switch {
		case r.Op == syntax.DplOut && target == "2", r.Op == syntax.RdrOut && target == "/dev/stderr":
			to = s.err
		case r.Op == syntax.DplOut && target == "1", r.Op == syntax.RdrOut && target == "/dev/stdout":
			to = s.out
		case (r.Op == syntax.RdrOut || r.Op == syntax.AppOut) && target == "/dev/null":
			to = func(string) {}
		default:
			return nil, ErrNotPredictable
		}
		switch from {
		case "1":
			s.out = to
		case "2":
			s.err = to
		default:
			return nil, ErrNotPredictable
		}
	}
	return func() { s.out, s.err = out, errOut }, nil
}

func (s *shell) command(cmd syntax.Command) error {
	switch cmd := cmd.(type) {
	case nil:
		return nil
	case *syntax.CallExpr:
		return s.call(cmd)
	case *syntax.DeclClause:
		if cmd.Variant.Value != "export" && cmd.Variant.Value != "readonly" {
			return ErrNotPredictable
		}
		return s.assign(cmd.Args)
	case *syntax.Block:
		return s.stmts(cmd.Stmts)
	case *syntax.Subshell:
		return s.subshell(cmd.Stmts)
	case *syntax.BinaryCmd:
		return s.binary(cmd)
	case *syntax.IfClause:
		return s.branch(cmd)
	case *syntax.WhileClause:
		return s.while(cmd)
	case *syntax.ForClause:
		return s.forEach(cmd)
	case *syntax.ArithmCmd:
		n, err := expand.Arithm(s.config(), cmd.X)
		s.status = oneIf(n == 0)
		return s.known(err)
	}
	return ErrNotPredictable
}

func oneIf(yes bool) int32 {
	if yes {
		return 1
	}
	return 0
}

func (s *shell) binary(cmd *syntax.BinaryCmd) error {
	if cmd.Op != syntax.AndStmt && cmd.Op != syntax.OrStmt {
		return ErrNotPredictable
	}
	if err := s.condition([]*syntax.Stmt{cmd.X}); err != nil {
		return err
	}
	if (s.status == 0) == (cmd.Op == syntax.AndStmt) {
		return s.stmt(cmd.Y)
	}
	return nil
}

// condition executes statements whose failure set -e ignores.
func (s *shell) condition(list []*syntax.Stmt) error {
	s.guarded++
	defer func() { s.guarded-- }()
	return s.stmts(list)
}

func (s *shell) branch(cmd *syntax.IfClause) error {
	for ; cmd != nil; cmd = cmd.Else {
		if len(cmd.Cond) > 0 { // an else has none
			if err := s.condition(cmd.Cond); err != nil {
				return err
			}
			if s.status != 0 {
				s.status = 0
				continue
			}
		}
		return s.stmts(cmd.Then)
	}
	return nil
}

// subshell executes statements with their own copy of the variables.
func (s *shell) subshell(list []*syntax.Stmt) error {
	vars, errexit := s.vars, s.errexit
	s.vars = maps.Clone(vars)
	defer func() { s.vars, s.errexit = vars, errexit }()
	err := s.stmts(list)
	var left *leave
	if errors.As(err, &left) {
		return nil
	}
	return err
}

// while executes a loop. A round that changes no state is repeated identically forever: a
// prediction ends there, and a log skips ahead.
func (s *shell) while(cmd *syntax.WhileClause) error {
	status := int32(0)
	for {
		changes, took, written := s.changes, s.Took, s.written
		if err := s.condition(cmd.Cond); err != nil {
			return err
		}
		if (s.status == 0) == cmd.Until {
			s.status = status
			return nil
		}
		if done, err := s.round(cmd.Do); done || err != nil {
			return err
		}
		status = s.status
		if changes != s.changes {
			continue
		}
		if s.Write == nil {
			return ErrRunsForever
		}
		if s.Took == took {
			return ErrStopped // it spins
		}
		s.skip(s.Took-took, s.written-written)
	}
}

// round executes a loop's body once and reports whether the loop is over.
func (s *shell) round(body []*syntax.Stmt) (done bool, err error) {
	err = s.stmts(body)
	var left *leave
	if !errors.As(err, &left) || left.kind == leaveScript {
		return err != nil, err
	}
	if left.n > 1 {
		return true, &leave{kind: left.kind, n: left.n - 1}
	}
	return left.kind == leaveLoop, nil
}

func (s *shell) forEach(cmd *syntax.ForClause) error {
	if cmd.Select {
		return ErrNotPredictable
	}
	if loop, ok := cmd.Loop.(*syntax.CStyleLoop); ok {
		return s.forCount(loop, cmd.Do)
	}
	loop, ok := cmd.Loop.(*syntax.WordIter)
	if !ok || !loop.InPos.IsValid() {
		return ErrNotPredictable
	}
	var items []*syntax.Word
	for _, item := range loop.Items {
		for word, err := range expand.BracesSeq(s.config(), item) {
			if err != nil {
				return ErrNotPredictable
			}
			items = append(items, word)
		}
	}
	values, err := s.words(items)
	if err != nil {
		return err
	}
	for _, value := range values {
		s.set(loop.Name.Value, value)
		if done, err := s.round(cmd.Do); done || err != nil {
			return err
		}
	}
	return nil
}

// forCount executes for ((...; ...; ...)).
func (s *shell) forCount(loop *syntax.CStyleLoop, body []*syntax.Stmt) error {
	evaluate := func(expr syntax.ArithmExpr) (int, error) {
		if expr == nil {
			return 1, nil
		}
		n, err := expand.Arithm(s.config(), expr)
		return n, s.known(err)
	}
	if _, err := evaluate(loop.Init); err != nil {
		return err
	}
	for {
		if err := s.spend(); err != nil {
			return err
		}
		n, err := evaluate(loop.Cond)
		if err != nil || n == 0 {
			return err
		}
		if done, err := s.round(body); done || err != nil {
			return err
		}
		if _, err := evaluate(loop.Post); err != nil {
			return err
		}
	}
}

// dateAt returns the current time of the simulated process.
func (s *shell) dateAt() time.Time {
	if s.deciding {
		s.changes++
	}
	return s.Began.Add(s.Took).UTC()
}
