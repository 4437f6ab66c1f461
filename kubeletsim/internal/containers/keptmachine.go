package containers

import (
	"context"
	"sync"
	"time"

	"minikcm.dev/minikcm/kubeletsim/internal/box"
)

// machineLife is how long a machine's environment and volumes are used for probes before they
// are read again. Real kubelets refresh volumes about once a minute.
const machineLife = time.Minute

// keptMachine is a machine that the probes of one run of a container share.
type keptMachine struct {
	id      string
	machine *box.Machine
	made    time.Time
	release func()

	mu sync.Mutex
	// users counts the probes that use it, plus one while it is kept.
	users int
}

// leave ends one use, and releases the machine after the last.
func (m *keptMachine) leave() {
	m.mu.Lock()
	m.users--
	last := m.users == 0
	m.mu.Unlock()
	if last {
		m.release()
	}
}

func (m *keptMachine) enter() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users++
}

// machineFor returns a machine for a probe, from the cache if possible.
func (rt *Runtime) machineFor(ctx context.Context, in *Ref) (*box.Machine, func(), error) {
	f, now := in.entry.Files(), rt.opts.Clock.Now()
	f.mu.Lock()
	kept := f.machines[in.spec.Name]
	if kept != nil && kept.id == in.id && now.Sub(kept.made) < machineLife {
		kept.enter()
		f.mu.Unlock()
		return kept.machine, kept.leave, nil
	}
	f.mu.Unlock()
	machine, volumes, err := in.machine(ctx)
	if err != nil {
		return nil, nil, err
	}
	made := &keptMachine{id: in.id, machine: machine, made: now, release: volumes.release, users: 2}
	f.mu.Lock()
	if f.machines == nil {
		f.machines = map[string]*keptMachine{}
	}
	old := f.machines[in.spec.Name]
	f.machines[in.spec.Name] = made
	f.mu.Unlock()
	if old != nil {
		old.leave()
	}
	return machine, made.leave, nil
}
