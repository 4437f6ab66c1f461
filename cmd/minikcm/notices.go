package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// notices returns a logger that prints each message as a line of its own on w. With a
// --log-level above 0 it returns the zero logger: the messages are in the log.
func notices(w io.Writer) klog.Logger {
	if klog.V(1).Enabled() {
		return klog.Logger{}
	}
	return logr.New(&noticeSink{w: w, mu: &sync.Mutex{}})
}

// noticeSink prints "minikcm: MESSAGE (KEY: VALUE, ...): ERROR".
type noticeSink struct {
	w      io.Writer
	mu     *sync.Mutex
	values []any
}

// Init implements logr.LogSink.
func (s *noticeSink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink.
func (s *noticeSink) Enabled(level int) bool { return level == 0 }

// Info implements logr.LogSink.
func (s *noticeSink) Info(_ int, message string, values ...any) { s.print(nil, message, values) }

// Error implements logr.LogSink.
func (s *noticeSink) Error(err error, message string, values ...any) { s.print(err, message, values) }

// WithName implements logr.LogSink. Names are not printed.
func (s *noticeSink) WithName(string) logr.LogSink { return s }

// WithValues implements logr.LogSink.
func (s *noticeSink) WithValues(values ...any) logr.LogSink {
	return &noticeSink{w: s.w, mu: s.mu, values: append(s.values[:len(s.values):len(s.values)], values...)}
}

func (s *noticeSink) print(err error, message string, values []any) {
	var details []string
	for _, list := range [][]any{s.values, values} {
		for i := 0; i+1 < len(list); i += 2 {
			details = append(details, fmt.Sprintf("%v: %v", list[i], list[i+1]))
		}
	}
	if len(details) > 0 {
		message += " (" + strings.Join(details, ", ") + ")"
	}
	if err != nil {
		message += ": " + err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintln(s.w, "minikcm: "+message)
}
