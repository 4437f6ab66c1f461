package serviceip

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/apiserver/codec"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// portsKey is where upstream's apiserver keeps which node ports are taken.
const portsKey = "/registry/ranges/servicenodeports"

var errPortTaken = errors.New("provided port is already allocated")

// portSet says which ports of a range are taken: the bits of a number.
type portSet struct {
	PortRange
	bits *big.Int
}

func (s portSet) has(port int32) bool { return s.bits.Bit(int(port-s.First)) == 1 }

func (s portSet) set(port int32, taken bool) {
	bit := uint(0)
	if taken {
		bit = 1
	}
	s.bits.SetBit(s.bits, int(port-s.First), bit)
}

// take marks a port that was asked for.
func (s portSet) take(port int32) error {
	switch {
	case !s.contains(port):
		return fmt.Errorf("provided port is not in the valid range. The range of valid ports is %s", s.PortRange)
	case s.has(port):
		return errPortTaken
	}
	s.set(port, true)
	return nil
}

// next marks any port that is free: one past the static ones if it can.
func (s portSet) next(random *clock.Random) (int32, error) {
	static := s.static()
	for _, band := range [][2]int{{static, s.size()}, {0, static}} {
		n := band[1] - band[0]
		if n == 0 {
			continue
		}
		start := random.IntN(n)
		for k := range n {
			port := s.First + int32(band[0]+(start+k)%n) // a port
			if !s.has(port) {
				s.set(port, true)
				return port, nil
			}
		}
	}
	return 0, errFull
}

// ports keeps the set in the store: every change replaces it as a whole, and only if
// it still is what the change was made of. Changes that are wanted while one is being
// written are written together. It is safe for concurrent use.
type ports struct {
	store   store.Store
	decoder *codec.Decoder
	valid   PortRange

	mu      sync.Mutex
	waiting []*portChange
	writing bool

	// These are the writer's: current is what was stored at revision.
	known    bool
	current  portSet
	revision int64
}

// portChange is something to be done to the set. It may be done several times, each to
// a set of its own; what it did last counts.
type portChange struct {
	apply func(set portSet) error
	ended chan error
}

// change carries a change out, and returns when it is stored: with apply's error, or
// the store's. A change that changes nothing is not written. What it is told of was so in
// the store while it was carried out.
func (p *ports) change(ctx context.Context, apply func(set portSet) error) error {
	c := &portChange{apply: apply, ended: make(chan error, 1)}
	p.mu.Lock()
	p.waiting = append(p.waiting, c)
	if p.writing {
		p.mu.Unlock()
		// Whoever writes has a context of its own, and does not leave this one out.
		return <-c.ended
	}
	p.writing = true
	p.mu.Unlock()
	p.writeAll(ctx)
	return <-c.ended
}

// writeAll writes until nobody waits.
func (p *ports) writeAll(ctx context.Context) {
	for {
		p.mu.Lock()
		batch := p.waiting
		p.waiting = nil
		if len(batch) == 0 {
			p.writing = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		p.write(ctx, batch)
	}
}

// write carries out a batch of changes, against the newest set.
func (p *ports) write(ctx context.Context, batch []*portChange) {
	outcome := make([]error, len(batch))
	err := p.retry(ctx, func(fresh bool) error {
		set, refused := portSet{p.valid, new(big.Int).Set(p.current.bits)}, false
		for i, c := range batch {
			attempt := portSet{p.valid, new(big.Int).Set(set.bits)}
			if outcome[i] = c.apply(attempt); outcome[i] == nil {
				set = attempt
			} else {
				refused = true
			}
		}
		unchanged := set.bits.Cmp(p.current.bits) == 0
		switch {
		case !fresh && (refused || unchanged):
			// Another process may have changed it meanwhile.
			return errStale
		case unchanged:
			return nil
		}
		return p.put(ctx, set)
	})
	for i, c := range batch {
		if err != nil && outcome[i] == nil {
			outcome[i] = err
		}
		c.ended <- outcome[i]
	}
}

// errStale is what an attempt returns that has to see the newest set.
var errStale = errors.New("the set may be out of date")

// retry calls attempt on what the store had, and then on what it has, again if another
// process was faster.
func (p *ports) retry(ctx context.Context, attempt func(fresh bool) error) error {
	for {
		fresh := !p.known
		if fresh {
			if err := p.read(ctx); err != nil {
				return err
			}
		}
		err := attempt(fresh)
		if err == nil {
			return nil
		}
		p.known = false
		var conflict *store.ConflictError
		if !errors.Is(err, errStale) && !errors.As(err, &conflict) {
			return err
		}
	}
}

// read learns what the store has. A set of another range is as good as none: Repair
// finds what the Services have.
func (p *ports) read(ctx context.Context) error {
	p.current, p.revision = portSet{p.valid, new(big.Int)}, 0
	kv, err := p.store.Get(ctx, portsKey, 0)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("reading the node ports that are taken: %w", err)
	}
	if err == nil {
		var stored corev1.RangeAllocation
		if err := p.decoder.DecodeStored(kv.Value, &stored); err != nil {
			return fmt.Errorf("reading the node ports that are taken: %w", err)
		}
		if p.revision = kv.ModRevision; stored.Range == p.valid.String() {
			p.current.bits.SetBytes(stored.Data)
		}
	}
	p.known = true
	return nil
}

func (p *ports) put(ctx context.Context, set portSet) error {
	value, err := codec.EncodeStored(corev1.SchemeGroupVersion.WithKind("RangeAllocation"),
		&corev1.RangeAllocation{Range: p.valid.String(), Data: set.bits.Bytes()})
	if err != nil {
		return fmt.Errorf("encoding the node ports that are taken: %w", err)
	}
	revision, err := p.store.Put(ctx, portsKey, value, p.revision)
	if err != nil {
		return fmt.Errorf("storing the node ports that are taken: %w", err)
	}
	p.current, p.revision = set, revision
	return nil
}

// look calls apply on a copy of the set, which nobody keeps.
func (p *ports) look(ctx context.Context, apply func(set portSet) error) error {
	var looked error
	err := p.change(ctx, func(set portSet) error {
		looked = apply(portSet{p.valid, new(big.Int).Set(set.bits)})
		return nil
	})
	if err != nil {
		return err
	}
	return looked
}
