package manager

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"

	"minikcm.dev/minikcm/clock/inflight"
	"minikcm.dev/minikcm/controllers/env"
)

// startJitter spreads the starts of controllers over one to two of their intervals,
// as upstream does.
const startJitter = 1.0

// Options say what a manager runs. The zero value runs nothing.
type Options struct {
	// Selected are the names of the controllers, as ParseSelection returns them.
	Selected []string
	// Settings are the controllers' options; nil: the defaults.
	Settings *Settings
	// StartInterval is the time between the starts of two controllers; 0: they start
	// at once. It is doubled by chance, at most.
	StartInterval time.Duration
	// First has to be up before the others are made: the controller that issues the
	// tokens by which they authenticate. Empty: nobody is waited for.
	First string
	// Up is called when First runs, or would if there were one; nil: nobody is told.
	Up func()
}

// Manager makes and runs controllers. Its methods may be called from several
// goroutines, whether it runs or not.
type Manager struct {
	env     *env.Env
	opts    Options
	table   []Descriptor
	members []*member
	running sync.Mutex

	launching sync.Mutex
	// launch lets one more member run; nil while the manager does not.
	launch func(*member) (stop func(), err error)
}

// New returns a manager that has made nothing yet. It is an error if a selected
// controller does not exist.
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

// Run makes the controllers, starts the informers and the recorder of the
// environment, and runs until ctx ends. A controller that cannot be made the first
// time is an error; one that fails later is made and run again, and its neighbours
// do not notice. When Run returns, all that it started has ended.
func (m *Manager) Run(ctx context.Context) error {
	m.running.Lock()
	defer m.running.Unlock()
	// The recorder ends after the controllers, to write what they report last.
	recording, endRecording := context.WithCancel(context.WithoutCancel(ctx))
	defer endRecording()
	var recorder errgroup.Group
	if m.env.Recorder != nil {
		recorder.Go(func() error { return m.env.Recorder.Run(recording) })
	}
	err := m.work(ctx)
	endRecording()
	if recordErr := recorder.Wait(); err == nil && recordErr != nil {
		err = fmt.Errorf("writing events: %w", recordErr)
	}
	return err
}

// work runs the controllers over running informers.
func (m *Manager) work(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var controllers sync.WaitGroup
	m.launcher(ctx, &controllers)
	defer func() {
		m.noLauncher()
		stop()
		controllers.Wait()
		m.env.Informers.Shutdown()
	}()
	// Time must not pass, nor anybody work, before all are there: what there is to do
	// first must not depend on who was made first.
	beginning := inflight.Begin(m.env.Ledger, inflight.Key)
	defer beginning.End()
	if m.opts.StartInterval > 0 {
		beginning.End()
	}
	first, rest := m.split()
	for phase, members := range [][]*member{first, rest} {
		for _, c := range members {
			if err := c.make(ctx); err != nil {
				return err
			}
		}
		// Informers that run already are not started again.
		m.env.Informers.Start(ctx.Done())
		for i, c := range members {
			if i > 0 && !m.pause(ctx) {
				return nil
			}
			controllers.Go(func() { c.supervise(ctx) })
		}
		if phase == 0 && m.opts.Up != nil {
			m.opts.Up()
		}
	}
	beginning.End()
	<-ctx.Done()
	return nil
}

// split takes the first controller apart.
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

// pause lets the start interval pass; false: ctx ended meanwhile.
func (m *Manager) pause(ctx context.Context) bool {
	if m.opts.StartInterval <= 0 {
		return ctx.Err() == nil
	}
	timer := m.env.Clock.NewTimer(wait.Jitter(m.opts.StartInterval, startJitter))
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
