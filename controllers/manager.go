package controllers

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/internal/inflight"
)

// startJitter is the jitter factor of Options.StartInterval, as upstream: each wait is one
// to two intervals long.
const startJitter = 1.0

// Options configure a manager. The zero value runs nothing.
type Options struct {
	// Selected are the names of the controllers, as ParseSelection returns them.
	Selected []string
	// Settings are the controllers' options; nil: the defaults.
	Settings *Settings
	// StartInterval is the least time between the starts of two controllers; jitter makes
	// it up to twice as long. 0: all start at once.
	StartInterval time.Duration
	// First is the controller that must run before the others are built: it issues the
	// tokens that they authenticate with. Empty: the manager waits for none.
	First string
	// Up, if not nil, is called when First runs, or when it would if First is empty.
	Up func()
}

// Manager builds and runs controllers. Its methods are safe for concurrent use, also while
// it does not run.
type Manager struct {
	env     *env.Env
	opts    Options
	table   []Descriptor
	members []*member
	running sync.Mutex

	launching sync.Mutex
	// launch runs one more member; nil while the manager does not run.
	launch func(*member) (stop func(), err error)
}

// New returns a manager that has built no controller yet. It fails if a selected controller
// does not exist.
func New(e *env.Env, opts Options) (*Manager, error) {
	return newManager(e, opts, Descriptors())
}

func newManager(e *env.Env, opts Options, table []Descriptor) (*Manager, error) {
	if opts.Settings == nil {
		opts.Settings = Defaults()
	}
	m := &Manager{env: e, opts: opts, table: table}
	for _, name := range opts.Selected {
		if !slices.ContainsFunc(table, func(d Descriptor) bool { return d.Name == name }) {
			return nil, fmt.Errorf("%q is not a controller", name)
		}
	}
	for _, d := range table {
		if slices.Contains(opts.Selected, d.Name) {
			m.members = append(m.members, newMember(d, e, opts.Settings))
		}
	}
	return m, nil
}

// Build builds the controllers, which request their informers. It fails if a controller
// cannot be built. A caller that starts the informers together with informers of others calls it
// before Run.
func (m *Manager) Build() error { return m.build(m.members) }

// build builds the members that have not been built.
func (m *Manager) build(members []*member) error {
	for _, c := range members {
		if c.isBuilt() {
			continue
		}
		if err := c.make(); err != nil {
			return err
		}
	}
	return nil
}

// Run builds the controllers that Build has not built, starts the informers that they have
// requested, and runs until ctx ends. It fails if a controller cannot be built the first
// time; a controller that fails later is rebuilt and restarted, without effect on the
// others. When Run returns, all controllers have ended. It comes after Begin of the
// environment.
func (m *Manager) Run(ctx context.Context) error {
	m.running.Lock()
	defer m.running.Unlock()
	return m.work(ctx)
}

// work runs the controllers.
func (m *Manager) work(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var controllers sync.WaitGroup
	m.launcher(ctx, &controllers)
	defer func() {
		m.noLauncher()
		stop()
		controllers.Wait()
	}()
	// No time may pass and no controller may work before all are started: the order of the
	// first work must not depend on the order of the start.
	beginning := inflight.Begin(m.env.Ledger, inflight.Key)
	defer beginning.End()
	if m.opts.StartInterval > 0 {
		beginning.End()
	}
	first, rest := m.split()
	for phase, members := range [][]*member{first, rest} {
		if err := m.build(members); err != nil {
			return err
		}
		m.env.StartInformers()
		for i, c := range members {
			if i > 0 && inflight.Sleep(ctx, m.env.Clock, wait.Jitter(m.opts.StartInterval, startJitter)) != nil {
				return nil
			}
			starting := inflight.Begin(m.env.Ledger, inflight.Start)
			controllers.Go(func() { c.supervise(ctx, starting) })
		}
		if phase == 0 && m.opts.Up != nil {
			m.opts.Up()
		}
	}
	beginning.End()
	<-ctx.Done()
	return nil
}

// split separates the controller that Options.First names from the others.
func (m *Manager) split() (first, rest []*member) {
	for _, c := range m.members {
		if c.descriptor.Name == m.opts.First {
			first = append(first, c)
		} else {
			rest = append(rest, c)
		}
	}
	return first, rest
}
