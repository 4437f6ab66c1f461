package box

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"minikcm.dev/minikcm/clock/inflight"
)

// Main is what is special about a container's own process.
//
// A nil *Main is that of any other command.
type Main struct {
	// Work counts the process from before Run, which ends it.
	Work *inflight.Work
	// Ended is called with the command's end while the ledger still counts it.
	Ended func(code int, err error)
	// Lost is called when it cannot be told what the command does next: it starts a
	// program that is not there, or goes on and on without letting time pass (spins). The
	// command then stands still until its context ends.
	Lost func(spins bool)
	// Traps is called when the first handler of a signal is set, or the last is taken away.
	Traps func(any bool)

	mu      sync.Mutex
	session *session
	// handlers are the shell's, by signal; pending are those to be run.
	handlers map[string]string
	pending  []string
	// waits is whether the shell waits for its background jobs; hurry, if not nil, ends
	// their sleep.
	waits bool
	hurry chan struct{}
	// commands counts those since time passed.
	commands int
}

// errHurried is a sleep that a signal cut short.
var errHurried = errors.New("interrupted by a signal")

// maxCommands is how many commands a process may execute at one moment.
const maxCommands = 20000

// Send sends a signal to the process. It is lost unless the process has a handler, as
// signals are of which the first process of a PID namespace does not want to know.
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

// take returns the handlers that are to be run now, as a script.
func (m *Main) take() string {
	if m == nil {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	script := strings.Join(m.pending, "\n")
	m.pending = nil
	return script
}

// paused is told that time may pass. What it returns ends that early; it may be nil.
func (m *Main) paused() <-chan struct{} {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands = 0
	if m.hurry == nil {
		m.hurry = make(chan struct{})
	}
	return m.hurry
}

// spend counts a command; false when there have been too many.
func (m *Main) spend() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands++
	return m.commands <= maxCommands
}

// lost lets the container's own process stand still until its end; false if the command
// is none.
func (s *session) lost(ctx context.Context, spins bool) bool {
	if s.machine.Main == nil || s.machine.Main.Lost == nil {
		return false
	}
	s.machine.Main.Lost(spins)
	(&absence{attention: &s.attention}).leave()
	<-ctx.Done()
	return true
}

// mainCall is call for a container's own process. Between any two commands, the
// handlers of signals that have come are run.
func (s *session) mainCall(ctx context.Context, args []string) []string {
	m := s.machine.Main
	if !m.spend() {
		s.lost(ctx, true)
	}
	switch args[0] {
	case "trap":
		args = m.trap(args)
	case "wait":
		m.mu.Lock()
		m.waits = true
		m.mu.Unlock()
	}
	script := m.take()
	if script == "" {
		return args
	}
	for i, arg := range args {
		quoted, err := syntax.Quote(arg, syntax.LangBash)
		if err != nil {
			return args
		}
		if i == 0 {
			script += "\n" + quoted
		} else {
			script += " " + quoted
		}
	}
	return []string{"eval", script}
}

// trap takes the signals out of a trap command: the interpreter knows EXIT and ERR only.
func (m *Main) trap(args []string) []string {
	words := args[1:]
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) < 2 || strings.HasPrefix(words[0], "-") && words[0] != "-" {
		return args
	}
	left := []string{"trap", words[0]}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.handlers) > 0
	for _, name := range words[1:] {
		signal := signalName(name)
		switch {
		case signal == "EXIT" || signal == "ERR" || signal == "":
			left = append(left, strings.TrimPrefix(name, "SIG"))
			if signal == "EXIT" {
				left[len(left)-1] = signal
			}
		case words[0] == "-":
			delete(m.handlers, signal)
		default:
			handlers := maps.Clone(m.handlers)
			if handlers == nil {
				handlers = map[string]string{}
			}
			handlers[signal] = words[0]
			m.handlers = handlers
		}
	}
	if after := len(m.handlers) > 0; after != before && m.Traps != nil {
		m.Traps(after)
	}
	if len(left) == 2 {
		return []string{":"}
	}
	return left
}

// signalName is the name of a signal that may be written as SIGTERM, TERM or 15; empty
// if there is no such signal.
func signalName(word string) string {
	switch word {
	case "0", "EXIT":
		return "EXIT"
	case "ERR":
		return "ERR"
	}
	name := strings.TrimPrefix(strings.ToUpper(word), "SIG")
	for signal, number := range Signals() {
		if name == signal || word == strconv.Itoa(number) {
			return signal
		}
	}
	return ""
}
