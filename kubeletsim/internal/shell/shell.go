package shell

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/kubeletsim/internal/shelltree"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

const (
	// maxDepth bounds how deep functions, subshells, eval and compound commands nest.
	maxDepth = 1000
	// subshellBytes is the memory of a subshell besides its variables.
	subshellBytes = 4 << 10
	// threadBytes is the memory of a goroutine with its stack.
	threadBytes = 16 << 10
	// statusTerminated is the status of a command that was killed by an end of its context.
	statusTerminated = 143
)

// Shell is one shell or subshell. One goroutine uses it at a time.
type Shell struct {
	Config

	turn      *Turn
	vars      map[string]*variable
	functions map[string]*function
	aliases   map[string]string
	options   map[string]bool
	files     map[int]*stream
	// unnamed are inherited variables with names that the shell does not allow. Programs inherit
	// them. The map is not modified.
	unnamed map[string]string
	// frames are the variables that calls of functions have hidden, by name.
	frames []map[string]*variable
	params []string
	// paramBytes is the memory of params, if set has set them.
	paramBytes int64
	status     int
	// statuses are the exit statuses of the commands in the last pipeline.
	statuses []int
	// guarded counts the enclosing conditions, in which set -e is suspended.
	guarded int
	depth   int
	loops   int
	// waiting counts the enclosing loops that may wait for something to change: the conditions of while and
	// until, and the bodies of those without an end.
	waiting int
	// substituted counts the command substitutions that the shell has executed.
	substituted int
	// sourced counts the enclosing calls of source.
	sourced int
	line    uint
	exited  bool
	// imported means that a text of which nothing is known has been executed in this shell: it may have set
	// variables and defined functions.
	imported bool
	// subshell reports that it is a subshell.
	subshell bool
	// onExit and onError are handlers of trap.
	onExit, onError string
	handling        bool
	traps           map[string]string
	jobs            []*job
	// processes are the process substitutions of the commands under way, readers those that may still read.
	processes, readers []*process
	lastJob            int
	nextPID            int
	children           uint64
	random             *rand.Rand
	began              time.Time
	optind             int
	// held is the memory reserved for expansions of the commands under way, owned the memory of variables and functions.
	held, owned int64
	dirs        []string
	// limits are the values that ulimit has set, by letter. The map is not modified.
	limits map[byte]string
}

// function is a function with the memory of its syntax tree.
type function struct {
	body     *syntax.Stmt
	reserved int64
}

// New returns a shell for the goroutine whose turn ctx carries. The caller must Close it.
func New(ctx context.Context, c Config) *Shell {
	s := &Shell{
		Config: c, turn: TurnOf(ctx), vars: map[string]*variable{}, unnamed: map[string]string{}, functions: map[string]*function{}, aliases: map[string]string{},
		options: map[string]bool{"extglob": true, "hashall": true, "sourcepath": true}, files: map[int]*stream{}, params: c.Args, traps: map[string]string{},
		nextPID: c.PID + 1, began: c.Container.Now(), optind: 1,
	}
	s.files[0], s.files[1], s.files[2] = &stream{in: c.In}, &stream{out: c.Out}, &stream{out: c.Err}
	for fd, d := range c.Descriptors {
		s.files[fd] = &stream{in: d.In, out: d.Out}
	}
	for name, value := range c.Env {
		if validName(name) {
			s.vars[name] = &variable{set: true, text: value, exported: true}
		} else {
			s.unnamed[name] = value
		}
	}
	for name, value := range map[string]string{"IFS": " \t\n", "PWD": c.Dir, "OPTIND": "1", "PS4": "+ ", "PPID": "0"} {
		if s.vars[name] == nil || name == "IFS" || name == "PWD" || name == "PPID" {
			exported := s.vars[name] != nil && s.vars[name].exported
			s.vars[name] = &variable{set: true, text: value, exported: exported}
		}
	}
	for name, id := range map[string]int64{"UID": c.UID, "EUID": c.UID, "GID": c.GID} {
		s.vars[name] = &variable{set: true, text: strconv.FormatInt(id, 10), readonly: true}
	}
	return s
}

// Close releases the shell's memory and files.
func (s *Shell) Close() {
	s.Container.Release(s.held + s.owned)
	s.held, s.owned = 0, 0
	for _, f := range s.files {
		f.close()
	}
	clear(s.files)
}

// fork returns a subshell, which has its own copy of everything that commands change.
func (s *Shell) fork(turn *Turn) (*Shell, error) {
	n := int64(subshellBytes + len(s.vars)*2*variableBytes)
	if turn != s.turn {
		n += threadBytes
	}
	for _, v := range s.vars {
		if v.kind != scalar {
			n += int64(len(v.elems)+len(v.keys)) * variableBytes
		}
	}
	if err := s.Container.Reserve(n); err != nil {
		return nil, err
	}
	s.children++
	c := &Shell{
		Config: s.Config, vars: make(map[string]*variable, len(s.vars)), unnamed: s.unnamed, functions: maps.Clone(s.functions), aliases: maps.Clone(s.aliases),
		options: maps.Clone(s.options), files: make(map[int]*stream, len(s.files)), params: s.params, status: s.status, guarded: s.guarded,
		depth: s.depth, line: s.line, subshell: true, traps: map[string]string{}, nextPID: s.nextPID, began: s.began, optind: s.optind,
		held: n, dirs: slices.Clone(s.dirs), loops: s.loops, waiting: s.waiting, sourced: s.sourced, imported: s.imported, onError: s.onError, limits: s.limits,
	}
	c.turn, c.Seed = turn, mix(s.Seed, s.children)
	for name, v := range s.vars {
		c.vars[name] = v.clone()
		c.vars[name].reserved = 0
	}
	for fd, f := range s.files {
		c.files[fd] = f.share()
	}
	if len(s.frames) > 0 {
		c.frames = []map[string]*variable{{}}
	}
	return c, nil
}

// mix derives the seed of a child.
func mix(seed, n uint64) uint64 {
	return rand.New(rand.NewPCG(seed, n)).Uint64() // nothing to be kept secret
}

// Run executes a script. It returns the error that ends the run, if any.
func (s *Shell) Run(ctx context.Context, text string) error {
	err := s.source(ctx, text, s.Name)
	return s.finish(ctx, err)
}

// Call executes a builtin.
func (s *Shell) Call(ctx context.Context, args []string) error {
	run := findBuiltin(args[0])
	if run == nil {
		return nil
	}
	status, err := run(s, ctx, args)
	s.status = status
	return s.finish(ctx, err)
}

// finish executes the handlers of the shell's end, and closes its files if a process substitution reads what it wrote.
func (s *Shell) finish(ctx context.Context, err error) error {
	err = s.handleEnd(ctx, err)
	if len(s.readers) > 0 && s.exited {
		for _, f := range s.files {
			f.close()
		}
		if awaitErr := s.awaitReaders(ctx); err == nil {
			err = awaitErr
		}
	}
	return err
}

func (s *Shell) handleEnd(ctx context.Context, err error) error {
	var j *jump
	if err != nil && !errors.As(err, &j) {
		return err
	}
	if handlers, err := s.Container.Before(ctx, s.subshell); err != nil {
		return err
	} else if !s.exited {
		for _, handler := range handlers {
			if err := s.handle(ctx, handler); err != nil {
				if errors.As(err, &j) {
					break
				}
				return err
			}
		}
	}
	s.exited = true
	if handler := s.onExit; handler != "" {
		s.onExit = ""
		status := s.status
		err := s.source(ctx, handler, s.Name)
		if !errors.As(err, &j) {
			s.status = status
			return err
		}
	}
	return nil
}

// RunStmt executes one statement of an interactive shell. Exited reports whether it has ended the shell.
func (s *Shell) RunStmt(ctx context.Context, stmt *syntax.Stmt) error {
	err := s.stmt(ctx, stmt)
	var j *jump
	if errors.As(err, &j) {
		if j.kind == jumpExit {
			return s.finish(ctx, err)
		}
		return nil
	}
	return err
}

// Exited reports whether a command has ended the shell.
func (s *Shell) Exited() bool { return s.exited }

// Status returns $?, which may be unknown.
func (s *Shell) Status() int { return s.status & (unknown.Status | 0xff) }

// statusText returns $? for a status. What is assumed to have succeeded has succeeded from then on.
func statusText(status int) string {
	if !unknown.Known(status) && !unknown.Holds(status) {
		return unknown.Text
	}
	return strconv.Itoa(status & 0xff)
}

// SetStatus sets $?.
func (s *Shell) SetStatus(status int) { s.status = status }

// SetOption sets an option of set, such as -e or -o with its name.
func (s *Shell) SetOption(args []string) {
	_, _ = setBuiltin(s, context.Background(), append([]string{"set"}, args...))
}

// source executes a text within the shell.
func (s *Shell) source(ctx context.Context, text, name string) error {
	if unknown.Is(text) {
		s.imported, s.status = true, unknown.Succeeded
		return nil
	}
	tree := int64(min(len(text), shelltree.MaxText)) * shelltree.TreeBytes
	if err := s.Container.Reserve(tree); err != nil {
		return err
	}
	defer s.Container.Release(tree)
	file, err := Parse(ctx, text, name)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s.complain("syntax error: %v", err)
		s.status = 2
		return &jump{kind: jumpAbort}
	}
	if len(file.Stmts) == 0 {
		s.status = 0
	}
	return s.nested(func() error { return s.stmts(ctx, file.Stmts) })
}

// nested calls do one level deeper, unless that is too deep.
func (s *Shell) nested(do func() error) error {
	if s.depth >= maxDepth {
		s.complain("commands are nested too deeply")
		s.status = 2
		return &jump{kind: jumpExit}
	}
	s.depth++
	defer func() { s.depth-- }()
	return do()
}

// complain writes an error message.
func (s *Shell) complain(format string, args ...any) {
	s.files[2].print(context.Background(), s.Name+": "+fmt.Sprintf(format, args...)+"\n")
}

// hold reserves memory until the command under way has ended: see release.
func (s *Shell) hold(n int) error {
	if err := s.Container.Reserve(int64(n)); err != nil {
		return err
	}
	s.held += int64(n)
	return nil
}

// setParams sets the positional parameters.
func (s *Shell) setParams(params []string) error {
	n := int64(0)
	for _, param := range params {
		n += int64(len(param) + pieceBytes)
	}
	if err := s.Container.Reserve(n); err != nil {
		return err
	}
	s.dropParams()
	s.owned += n
	s.params, s.paramBytes = slices.Clone(params), n
	return nil
}

// dropParams releases the memory of the positional parameters.
func (s *Shell) dropParams() {
	s.Container.Release(s.paramBytes)
	s.owned -= s.paramBytes
	s.paramBytes = 0
}

// release releases the memory reserved since mark, a former value of held.
func (s *Shell) release(mark int64) {
	s.Container.Release(s.held - mark)
	s.held = mark
}

// absolute makes a file's name absolute.
func (s *Shell) absolute(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join("/", s.Dir, name)
}

// step is called before each command and each round of a loop.
func (s *Shell) step(ctx context.Context) error {
	if err := s.turn.Step(ctx); err != nil {
		return err
	}
	handlers, err := s.Container.Before(ctx, s.subshell)
	if err != nil {
		return err
	}
	for _, handler := range handlers {
		if err := s.handle(ctx, handler); err != nil {
			return err
		}
	}
	return nil
}

// handle executes the handler of a signal, which leaves $? as it was.
func (s *Shell) handle(ctx context.Context, handler string) error {
	status := s.status
	if err := s.source(ctx, handler, "trap"); err != nil {
		return err
	}
	s.status = status
	return nil
}

// environment returns the variables that a program inherits.
func (s *Shell) environment() map[string]string {
	env := maps.Clone(s.unnamed)
	for name, v := range s.vars {
		if v.exported && v.set && v.kind == scalar {
			env[name] = v.text
		}
	}
	return env
}

// flags returns $-.
func (s *Shell) flags() string {
	var b strings.Builder
	for _, o := range shortOptions {
		if s.options[o.name] {
			b.WriteByte(o.flag)
		}
	}
	return b.String()
}
