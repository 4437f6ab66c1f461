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

// Main makes a command a container's main process. A nil *Main is any other command.
type Main struct {
	// Work counts the process since before Run, which ends it.
	Work *inflight.Work
	// Ended is called with the command's result, while the ledger still counts the command.
	Ended func(code int, err error)
	// Lost is called when the command cannot be simulated any further: it starts a program that
	// does not exist, or spins, that is, executes maxCommands without letting time pass. The
	// command then blocks until its context ends.
	Lost func(spins bool)
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

// take returns the pending handlers as a script.
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

// paused resets the count of commands before time passes. Closing the returned channel, which
// may be nil, ends the pause early.
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

// spend counts a command; false if there have been too many.
func (m *Main) spend() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commands++
	return m.commands <= maxCommands
}

// lost blocks the main process until ctx ends; false for any other command.
func (s *session) lost(ctx context.Context, spins bool) bool {
	if s.machine.Main == nil || s.machine.Main.Lost == nil {
		return false
	}
	s.machine.Main.Lost(spins)
	(&absence{attention: &s.attention}).leave()
	<-ctx.Done()
	return true
}

// mainCall is call for the main process. It runs pending signal handlers between two commands.
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

// trap handles the signals of a trap command. The interpreter itself supports EXIT and ERR
// only.
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

// signalName returns the name of a signal given as SIGTERM, TERM or 15; empty if there is none.
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
