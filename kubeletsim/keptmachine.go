package kubeletsim

import (
	"context"
	"sync"
	"time"

	"minikcm.dev/minikcm/kubeletsim/box"
)

// machineLife is for how long what the API says of a container's environment and volumes is
// taken to hold for probes, as real kubelets refresh volumes about once a minute.
const machineLife = time.Minute

// keptMachine is a machine that is used again and again in one run of a container.
type keptMachine struct {
	id      string
	machine *box.Machine
	made    time.Time
	release func()

	mu sync.Mutex
	// users is how many use it, or keep it.
	users int
}

// leave is when one of the users does not need it any more.
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

// machineFor is machine for what is done often.
func (k *Kubelet) machineFor(ctx context.Context, in *place) (*box.Machine, func(), error) {
	f, now := &in.entry.files, k.opts.Clock.Now()
	f.mu.Lock()
	kept := f.machines[in.spec.Name]
	if kept != nil && kept.id == in.id && now.Sub(kept.made) < machineLife {
		kept.enter()
		f.mu.Unlock()
		return kept.machine, kept.leave, nil
	}
	f.mu.Unlock()
	machine, release, err := in.machine(ctx)
	if err != nil {
		return nil, nil, err
	}
	made := &keptMachine{id: in.id, machine: machine, made: now, release: release, users: 2}
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
