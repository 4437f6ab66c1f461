package box

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// Main makes a command a container's main process. A nil *Main is any other command.
type Main struct {
	// Work counts the process since before Run, which ends it.
	Work *inflight.Work
	// Ended is called with the command's result, while the ledger still counts the command.
	Ended func(code int, err error)
	// Lost is called when the command cannot be simulated any further: it spins, that is, executes
	// maxCommands without letting time pass. The command then blocks until its context ends.
	Lost func()
	// Paused, if not nil, is called before time first passes.
	Paused func()
	// Traps is called when the first signal handler is set, or the last is removed.
	Traps func(any bool)

	mu      sync.Mutex
	session *session
	// handlers are the shell's handlers, by signal; pending are the handlers to run.
	handlers map[string]string
	pending  []string
	// waits means that the shell waits for its background jobs. hurry, if not nil, ends their
	// sleep when closed.
	waits bool
	hurry chan struct{}
	// commands counts the commands since time last passed.
	commands int
}

// errHurried means that a signal cut a sleep short.
var errHurried = errors.New("interrupted by a signal")

// maxCommands bounds the commands that a process executes without letting time pass.
const maxCommands = 20000

// Send sends a signal to the process. Without a handler the signal is ignored, as for the first
// process of a PID namespace.
func (m *Main) Send(signal string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	handler := m.handlers[signal]
	if handler == "" || m.session == nil {
		return
	}
	m.pending = append(m.pending, handler)
	if m.waits && m.hurry != nil {
		close(m.hurry)
		m.waits, m.hurry = false, nil
		m.session.attention.recall()
	}
}

func (m *Main) serve(s *session) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session = s
}

func (m *Main) ended(code int, err error) {
	if m != nil && m.Ended != nil {
		m.Ended(code, err)
	}
}

// take returns the pending handlers.
func (m *Main) take() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	pending := m.pending
	m.pending = nil
	return pending
}

// paused resets the count of commands before time passes. Closing the returned channel, which
// may be nil, ends the pause early.
func (m *Main) paused() <-chan struct{} {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if first := m.Paused; first != nil {
		m.Paused = nil
		first()
	}
	m.commands = 0
	if m.hurry == nil {
		m.hurry = make(chan struct{})
	}
	return m.hurry
}

// spend counts a command; false if there have been too many.
func (m *Main) spend() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands++
	return m.commands <= maxCommands
}

// lost blocks the main process until ctx ends; false for any other command.
func (s *session) lost(ctx context.Context) bool {
	if s.machine.Main == nil || s.machine.Main.Lost == nil {
		return false
	}
	s.machine.Main.paused()
	s.machine.Main.Lost()
	shell.TurnOf(ctx).End()
	(&absence{attention: &s.attention}).leave()
	<-ctx.Done()
	return true
}

// Before implements shell.Container: it counts the commands of the main process, and returns the handlers
// of its signals.
func (s *session) Before(ctx context.Context, subshell bool) ([]string, error) {
	m := s.machine.Main
	if m == nil {
		return nil, nil
	}
	if !m.spend() && s.lost(ctx) {
		return nil, ctx.Err()
	}
	if subshell {
		return nil, nil
	}
	return m.take(), nil
}

// Waits implements shell.Container.
func (s *session) Waits() {
	if m := s.machine.Main; m != nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.waits = true
	}
}

// Trap implements shell.Container. Only the main process gets signals.
func (s *session) Trap(signal, handler string, remove bool) bool {
	name := signalName(signal)
	if name == "" {
		return false
	}
	m := s.machine.Main
	if m == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.handlers) > 0
	if remove {
		delete(m.handlers, name)
	} else {
		if m.handlers == nil {
			m.handlers = map[string]string{}
		}
		m.handlers[name] = handler
	}
	if after := len(m.handlers) > 0; after != before && m.Traps != nil {
		m.Traps(after)
	}
	return true
}

// signalName returns the name of a signal given as SIGTERM, TERM or 15; empty if there is none.
func signalName(word string) string {
	name := strings.TrimPrefix(strings.ToUpper(word), "SIG")
	for signal, number := range Signals() {
		if name == signal || word == strconv.Itoa(number) {
			return signal
		}
	}
	return ""
}
