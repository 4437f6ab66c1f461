package box

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// Machine is the environment that a command runs in.
type Machine struct {
	Files *memfs.View
	Clock clock.Clock
	// Ledger may be nil.
	Ledger *clock.Ledger
	// Env are the variables, as NAME=value.
	Env []string
	// Dir is the working directory; empty is the root.
	Dir      string
	Hostname string
	// User is whom the command runs as. It has no effect on the access to files.
	User User
	// Mounts means that the user may mount file systems.
	Mounts bool
	// Processes are the processes that ps shows beside the command, the first with the ID 1.
	Processes []Process
	// Signal is called for a signal to one of the Processes; nil: signals are ignored.
	Signal func(to Process, signal string) error
	// Output returns the standard output (1) or error (2) of the container's process, which commands
	// write to as /proc/1/fd/1 and 2; nil: there is none.
	Output func(fd string) io.Writer
	// Certgen is the program minikcm-certgen, which uses the API; nil: it fails.
	Certgen func(ctx context.Context, args []string, out, errOut io.Writer) int
	// Network connects programs; nil: nothing is known of it.
	Network Network
	// Unknown means that nothing describes the content of the container's image: a program that is not here
	// may be there. Assumed is called with what is assumed of it; it may be nil.
	Unknown bool
	Assumed func(what string)
	// ShowAssumed writes to the command's standard error what is assumed, each thing once. A terminal shows it in
	// any case.
	ShowAssumed bool
	// Lasts means that an unknown program runs until it is stopped, as the process of a server does.
	Lasts bool
	// Ran is whether a program of which nothing is known has run in the container; nil: one has.
	Ran *atomic.Bool
	// Memory is the container's; nil: unlimited. A command that needs more is killed.
	Memory *shell.Budget
	// Share is the part of the processors that the cluster's commands use; nil: unlimited.
	Share *shell.Share
	// Killed, if not nil, is called when the command was killed because it needed more than Memory.
	Killed func()
	// Seed determines the random numbers.
	Seed uint64
	// Main, if not nil, makes the command a container's own process.
	Main *Main
}

// Process is a process as ps shows it.
type Process struct {
	PID     int
	Command string
	// Owner is for the caller's use.
	Owner string
}

// Streams are a command's streams. Any may be nil. With TTY, Out is the terminal's output, In
// its input, and Err is not used.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	TTY      bool
	// Size returns the terminal's size; nil: 24 lines of 80 columns.
	Size func() (width, height uint16)
}

// NotStartedError means that the program does not exist. Its text is the OCI runtime's.
type NotStartedError struct{ Why string }

func (e *NotStartedError) Error() string {
	return "OCI runtime exec failed: exec failed: unable to start container process: " + e.Why + ": unknown"
}

// The exit codes of shells for commands.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitInterrupted   = 130
	exitKilled        = 137
)

// ErrOutOfMemory is given to Main.Ended when the command was killed because it needed more than Memory.
var ErrOutOfMemory = shell.ErrOutOfMemory

// Run runs a command to its end and returns its exit code. The error is a *NotStartedError if
// the program does not exist, or ctx's error.
func (m *Machine) Run(ctx context.Context, argv []string, streams Streams) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	own := *m
	s := &session{machine: &own, tty: streams.TTY, size: streams.Size, attention: attention{work: m.work()}, cancel: cancel}
	turn := m.Share.NewTurn(&s.attention)
	ctx = shell.WithTurn(ctx, turn)
	own.Files = m.Files.Charge(&memfs.Payer{Reserve: s.Reserve, Release: m.Memory.Release})
	defer s.attention.finish()
	defer s.hangUp()
	defer func() { m.Main.ended(s.result(code, err)) }()
	m.Main.serve(s)
	defer s.jobs.Wait()
	defer turn.End()
	defer s.endJobs()
	defer cancel()
	s.open(ctx, streams)
	defer s.close()
	p := s.newProc(ctx, argv, s.environment(), s.startDir())
	p.in, p.stdout, p.stderr = s.stdin(), s.out, s.err
	p.seed, p.pid = m.Seed, s.firstPID()
	p.bind(ctx)
	run, err := p.find()
	if err != nil {
		return 0, err
	}
	front, done := s.interrupts.foreground(ctx)
	defer done()
	code, err = s.protected(front, run, p)
	code = unknown.Exit(code)
	switch {
	case s.killed.Load():
		if m.Killed != nil {
			m.Killed()
		}
		return exitKilled, nil
	case err != nil:
		return 0, err
	case ctx.Err() != nil:
		return exitKilled, ctx.Err()
	case front.Err() != nil:
		return exitInterrupted, nil
	}
	return code, nil
}

// protected runs the command, and makes an error of a panic in it.
func (s *session) protected(ctx context.Context, run program, p *proc) (code int, err error) {
	defer func() {
		if r := recover(); r != nil {
			code, err = 0, fmt.Errorf("the simulated command panicked: %v", r)
		}
	}()
	defer p.free()
	return p.execute(ctx, run), nil
}

// result returns the arguments of Main.Ended.
func (s *session) result(code int, err error) (int, error) {
	if s.killed.Load() {
		return exitKilled, ErrOutOfMemory
	}
	if err == nil && code == 0 && s.foreign.Load() {
		return code, ErrAssumed
	}
	return code, err
}

// firstPID returns the ID of the command's process.
func (s *session) firstPID() int {
	if s.machine.Main != nil {
		return 1
	}
	next := 1
	for _, process := range s.machine.Processes {
		next = max(next, process.PID+1)
	}
	return next
}

// session is one command with everything that it starts.
type session struct {
	machine   *Machine
	tty       bool
	size      func() (width, height uint16)
	attention attention
	out, err  *lockedWriter
	// input buffers the input stream; nil if there is none. token reads from it.
	input      *input
	token      shell.Reader
	interrupts interrupts

	// cancel ends the command. killed is whether it has needed too much memory.
	cancel context.CancelFunc
	killed atomic.Bool
	// foreign is whether it has run a program of which nothing is known.
	foreign atomic.Bool
	// assumed are the assumptions that the command has shown. mu guards them.
	assumed []string
	// jobs are the goroutines of background jobs, ends what ends them.
	jobs sync.WaitGroup
	mu   sync.Mutex
	ends map[*context.CancelFunc]bool
	over bool
	// connections are those that the command's programs have open.
	connections map[*end]bool
}

func (s *session) open(ctx context.Context, streams Streams) {
	out := newLockedWriter(streams.Out)
	if s.tty && streams.Out != nil {
		out = newLockedWriter(terminalLines{streams.Out})
	}
	s.out, s.err = out, newLockedWriter(streams.Err)
	if s.tty {
		s.err = out
	}
	if streams.In == nil {
		return
	}
	s.input = newInput(&s.attention)
	s.token = sessionInput{s.input}
	var feed io.Writer = s.input
	if s.tty {
		feed = &terminal{input: s.input, echo: out, interrupt: s.interrupts.raise}
	}
	// It ends when the caller closes In, after the command's end at the latest.
	go func() {
		_, _ = io.Copy(feed, streams.In)
		s.input.end()
	}()
	context.AfterFunc(ctx, s.input.end)
}

func (s *session) close() {
	s.out.end()
	s.err.end()
	if s.input != nil {
		s.input.end()
	}
}

func (s *session) stdin() shell.Reader {
	if s.input == nil {
		return nil
	}
	return s.token
}

// sessionInput is the command's input for all that have inherited it.
type sessionInput struct{ *input }

// ReadContext implements shell.Reader.
func (in sessionInput) ReadContext(ctx context.Context, p []byte) (int, error) {
	return in.read(ctx, p)
}

func (s *session) startDir() string {
	if s.machine.Dir == "" {
		return "/"
	}
	return path.Clean("/" + s.machine.Dir)
}

// environment returns the command's initial variables.
func (s *session) environment() map[string]string {
	env := map[string]string{}
	for _, pair := range s.machine.Env {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	for name, value := range map[string]string{"PATH": defaultPath, "HOME": s.home(), "HOSTNAME": s.machine.Hostname} {
		if _, ok := env[name]; !ok {
			env[name] = value
		}
	}
	if _, ok := env["TERM"]; s.tty && !ok {
		env["TERM"] = "xterm"
	}
	return env
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

var errNoWriter = errors.New("closed")

// WriteContext implements shell.Writer.
func (l *lockedWriter) WriteContext(ctx context.Context, p []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	shell.TurnOf(ctx).End()
	return l.Write(p)
}

// lockedWriter serializes writes of a command's parts, and shows unknown text.
type lockedWriter struct {
	mu sync.Mutex
	w  *unknown.Writer
}

// terminalLines translates the line ends that a terminal gets.
type terminalLines struct{ w io.Writer }

func (t terminalLines) Write(p []byte) (int, error) {
	_, err := t.w.Write([]byte(strings.ReplaceAll(string(p), "\n", "\r\n")))
	return len(p), err
}

func newLockedWriter(w io.Writer) *lockedWriter {
	if w == nil {
		return &lockedWriter{}
	}
	return &lockedWriter{w: unknown.NewWriter(w)}
}

// end writes the buffered text.
func (l *lockedWriter) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w != nil {
		_ = l.w.Close()
	}
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil || len(p) == 0 {
		return len(p), nil
	}
	if _, err := l.w.Write(p); err != nil {
		return 0, fmt.Errorf("%w: %w", errNoWriter, err)
	}
	return len(p), nil
}
