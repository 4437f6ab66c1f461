package box

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/kubeletsim/memfs"
)

// Machine is what a command finds itself on.
type Machine struct {
	Files *memfs.View
	Clock clock.Clock
	// Ledger may be nil.
	Ledger *clock.Ledger
	// Env are the variables, as NAME=value.
	Env []string
	// Dir is where commands begin; empty is the root.
	Dir      string
	Hostname string
	// Processes are those that run beside the command, the first with the ID 1.
	Processes []Process
	// Signal is called when somebody sends a signal to one of these; nil: it is lost.
	Signal func(to Process, signal string) error
	// Main, if not nil, makes the command a container's own process.
	Main *Main
}

// Process is what ps tells of one.
type Process struct {
	PID     int
	Command string
	// Owner is for the Machine's maker.
	Owner string
}

// Streams are what a command reads and writes. Any may be nil. With TTY, Out is a
// terminal's, In what is typed on it, and Err is not used.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	TTY      bool
	// Size tells the terminal's size; nil: 24 lines of 80 columns.
	Size func() (width, height uint16)
}

// NotStartedError says that there is no such program. Its text is the one of the OCI
// runtime.
type NotStartedError struct{ Why string }

func (e *NotStartedError) Error() string {
	return "OCI runtime exec failed: exec failed: unable to start container process: " + e.Why + ": unknown"
}

// The exit codes that shells give to commands.
const (
	exitNotExecutable = 126
	exitNotFound      = 127
	exitInterrupted   = 130
	exitKilled        = 137
)

// Run runs a command until its end and returns its exit code. The error is a
// *NotStartedError if there is no such program, or that of ctx.
func (m *Machine) Run(ctx context.Context, argv []string, streams Streams) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &session{machine: m, tty: streams.TTY, size: streams.Size, attention: attention{work: m.work()}}
	defer s.attention.finish()
	defer func() { m.Main.ended(code, err) }()
	m.Main.serve(s)
	defer cancel()
	if err := s.open(ctx, streams); err != nil {
		return 0, err
	}
	defer s.close()
	p := &proc{session: s, args: argv, env: s.environment(), dir: s.startDir(), in: s.stdin(), out: s.out, err: s.err}
	run, err := p.find()
	if err != nil {
		return 0, err
	}
	defer func() {
		if r := recover(); r != nil {
			code, err = 0, fmt.Errorf("the simulated command panicked: %v", r)
		}
	}()
	front, done := s.interrupts.foreground(ctx)
	defer done()
	code = run(front, p)
	switch {
	case ctx.Err() != nil:
		return exitKilled, ctx.Err()
	case front.Err() != nil:
		return exitInterrupted, nil
	}
	return code, nil
}

// session is one command with all that it starts.
type session struct {
	machine   *Machine
	tty       bool
	size      func() (width, height uint16)
	attention attention
	out, err  io.Writer
	// input is what comes in from outside; nil if nothing does. token stands for it
	// where the shell wants a file; what is written to its other end it can read.
	input        *input
	token, other *os.File
	interrupts   interrupts
}

func (s *session) open(ctx context.Context, streams Streams) error {
	out := &lockedWriter{w: streams.Out}
	if s.tty {
		out.newline = "\r\n"
	}
	s.out, s.err = out, &lockedWriter{w: streams.Err}
	if s.tty {
		s.err = out
	}
	if streams.In == nil {
		return nil
	}
	var err error
	if s.token, s.other, err = os.Pipe(); err != nil {
		return fmt.Errorf("making the pipe of a simulated command: %w", err)
	}
	s.input = newInput(&s.attention)
	var feed io.Writer = s.input
	if s.tty {
		feed = &terminal{input: s.input, echo: out, interrupt: s.interrupts.raise}
	}
	// It ends when the one who closes In does so, after the command's end at the latest.
	go func() {
		_, _ = io.Copy(feed, streams.In)
		s.input.end()
	}()
	context.AfterFunc(ctx, s.input.end)
	return nil
}

func (s *session) close() {
	if s.input != nil {
		s.input.end()
		_ = s.other.Close()
		_ = s.token.Close()
	}
}

func (s *session) stdin() io.Reader {
	if s.input == nil {
		return nil
	}
	return s.token
}

func (s *session) startDir() string {
	if s.machine.Dir == "" {
		return "/"
	}
	return path.Clean("/" + s.machine.Dir)
}

// environment is what the command starts with.
func (s *session) environment() map[string]string {
	env := map[string]string{}
	for _, pair := range s.machine.Env {
		if name, value, ok := strings.Cut(pair, "="); ok {
			env[name] = value
		}
	}
	for name, value := range map[string]string{"PATH": defaultPath, "HOME": "/root", "HOSTNAME": s.machine.Hostname} {
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

// lockedWriter lets several parts of a command write at once, and writes lines as a
// terminal wants them.
type lockedWriter struct {
	mu      sync.Mutex
	w       io.Writer
	newline string
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.w == nil {
		return len(p), nil
	}
	data := p
	if l.newline != "" {
		data = []byte(strings.ReplaceAll(string(p), "\n", l.newline))
	}
	if len(data) == 0 {
		return 0, nil
	}
	if _, err := l.w.Write(data); err != nil {
		return 0, fmt.Errorf("%w: %w", errNoWriter, err)
	}
	return len(p), nil
}
