package box

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/network/reach"
	"minikcm.dev/minikcm/kubeletsim/internal/memfs"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
	"minikcm.dev/minikcm/kubeletsim/internal/unknown"
)

// Actor does what a program in a container can: it waits, reads files, runs commands, and asks servers.
type Actor struct{ *proc }

// Act calls do as a program in the container, and returns its error. Work that ctx belongs to is not in flight while do waits
// through the Actor.
func (m *Machine) Act(ctx context.Context, do func(ctx context.Context, a *Actor) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	own := *m
	own.Main, own.Assumed = nil, nil
	s := &session{machine: &own, attention: attention{work: own.work(), caller: inflight.PauserOf(ctx)}, cancel: cancel}
	turn := m.Share.NewTurn(&s.attention)
	ctx = shell.WithTurn(ctx, turn)
	own.Files = m.Files.Charge(&memfs.Payer{Reserve: s.Reserve, Release: m.Memory.Release})
	defer s.attention.finish()
	defer s.hangUp()
	defer s.jobs.Wait()
	defer turn.End()
	defer s.endJobs()
	defer cancel()
	s.open(ctx, Streams{})
	defer s.close()
	p := s.newProc(ctx, []string{"server"}, s.environment(), s.startDir())
	p.stdout, p.stderr, p.seed, p.pid = s.out, s.err, m.Seed, s.firstPID()
	p.bind(ctx)
	defer p.free()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the simulated server panicked: %v", r)
		}
	}()
	if err = do(ctx, &Actor{p}); s.killed.Load() {
		return ErrOutOfMemory
	}
	return err
}

// Sleep returns when d has passed on the cluster's clock, or with an error when ctx has ended.
func (a *Actor) Sleep(ctx context.Context, d time.Duration) error { return a.sleep(ctx, d) }

// Environment returns the variables of the container.
func (a *Actor) Environment() map[string]string { return maps.Clone(a.env) }

// ReadFile returns the content of a file.
func (a *Actor) ReadFile(name string) ([]byte, error) { return a.machine.Files.ReadFile(name) }

// maxOutput bounds the bytes that a command of an Actor writes, and the bytes of an answer to it.
const maxOutput = 1 << 20

// Ran is the result of a command of an Actor.
type Ran struct {
	Output, Errors string
	Code           int
}

// Run runs a command with additional variables and an input. It is killed after limit.
func (a *Actor) Run(ctx context.Context, args []string, env map[string]string, input []byte, limit time.Duration) (*Ran, error) {
	if len(args) == 0 || args[0] == "" {
		return nil, errors.New("no command specified")
	}
	limited, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := a.machine.Clock.AfterFunc(limit, func() {
		cancel()
		a.attention.recall()
	})
	defer timer.Stop()
	inner := a.inner(limited, args, a.Environment())
	maps.Copy(inner.env, env)
	out, errs := &kept{}, &kept{}
	inner.in, inner.stdout, inner.stderr = plainInput{bytes.NewReader(input)}, out, errs
	inner.bind(limited)
	code := a.become(limited, inner)
	if limited.Err() != nil && ctx.Err() == nil {
		code = exitKilled
	}
	return &Ran{out.String(), errs.String(), unknown.Exit(code)}, ctx.Err()
}

// plainInput is an input that does not wait.
type plainInput struct{ io.Reader }

// ReadContext implements shell.Reader.
func (r plainInput) ReadContext(ctx context.Context, into []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return r.Read(into)
}

// kept keeps what a command writes, up to maxOutput.
type kept struct {
	mu   sync.Mutex
	data []byte
}

// WriteContext implements shell.Writer.
func (k *kept) WriteContext(ctx context.Context, data []byte) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	shell.TurnOf(ctx).End()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.data = append(k.data, data[:min(len(data), maxOutput-len(k.data))]...)
	return len(data), nil
}

func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return string(k.data)
}

// Call is a request that an Actor makes.
type Call struct {
	Method, URL string
	Header      http.Header
	Body        []byte
	// Limit bounds its time.
	Limit time.Duration
}

// Answered is the answer to a Call.
type Answered struct {
	Status int
	Header http.Header
	Body   []byte
}

// Call asks a server. The error says why there is no answer.
func (a *Actor) Call(ctx context.Context, c *Call) (*Answered, error) {
	l, err := parseLink(c.URL)
	if err != nil {
		return nil, fmt.Errorf("%q is no URL of a server", c.URL)
	}
	if l.Scheme != "http" && l.Scheme != "https" {
		return nil, fmt.Errorf("protocol %q is not supported", l.Scheme)
	}
	began := a.machine.Clock.Now()
	d, err := a.connect(ctx, dial{host: l.host, port: l.port, limit: c.Limit})
	switch {
	case err != nil:
		return nil, err
	case d.Outcome == reach.NoSuchHost || d.Outcome == reach.NoNameServer || d.Outcome == reach.ServerFailure:
		return nil, fmt.Errorf("lookup %s: no such host", l.host)
	case d.late:
		return nil, errTimeout
	case d.Outcome == reach.Unknown:
		return nil, fmt.Errorf("%s is outside of the cluster", l.host)
	case !d.established():
		return nil, fmt.Errorf("dial tcp %s: connect: %s", d.Destination, strings.ToLower(d.Outcome.Error()))
	}
	r, err := l.request(ctx, c.Method, c.Body, "minikcm")
	if err != nil {
		return nil, err
	}
	for name, values := range c.Header {
		for _, value := range values {
			addHeader(r, name+": "+value)
		}
	}
	left := c.Limit - a.machine.Clock.Since(began)
	if left <= 0 {
		return nil, errTimeout
	}
	answer, err := a.ask(ctx, d, r, left, nil)
	switch {
	case errors.Is(err, errLate):
		return nil, errTimeout
	case err != nil:
		return nil, err
	case len(answer.body) > maxOutput:
		return nil, fmt.Errorf("the answer has more than %d bytes", maxOutput)
	}
	return &Answered{answer.status, answer.header, answer.body}, nil
}

// errTimeout is the error of a call that takes too long.
var errTimeout = errors.New("it takes too long: timeout")
