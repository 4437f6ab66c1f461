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
	// Processes are the processes that ps shows beside the command, the first with the ID 1.
	Processes []Process
	// Signal is called for a signal to one of the Processes; nil: signals are ignored.
	Signal func(to Process, signal string) error
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

// Run runs a command to its end and returns its exit code. The error is a *NotStartedError if
// the program does not exist, or ctx's error.
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

// session is one command with everything that it starts.
type session struct {
	machine   *Machine
	tty       bool
	size      func() (width, height uint16)
	attention attention
	out, err  io.Writer
	// input buffers the input stream; nil if there is none. token stands for it where the
	// interpreter needs a file; data written to other can be read from token.
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
	// It ends when the caller closes In, after the command's end at the latest.
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

// environment returns the command's initial variables.
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

// lockedWriter serializes writes of a command's parts, and translates line ends for a terminal.
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
