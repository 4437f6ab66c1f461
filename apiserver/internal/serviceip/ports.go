package serviceip

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/store"
)

// portsKey is the key under which upstream's apiserver stores the allocated node ports.
const portsKey = "/registry/ranges/servicenodeports"

var errPortTaken = errors.New("provided port is already allocated")

// portSet is the set of allocated ports of a range: the bits of a number.
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

// take allocates a requested port.
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

// next allocates a free port, outside the static part if possible.
func (s portSet) next(random *clock.Random) (int32, error) {
	static := s.static()
	for _, band := range [][2]int{{static, s.size()}, {0, static}} {
		n := band[1] - band[0]
		if n == 0 {
			continue
		}
		start := random.IntN(n)
		for k := range n {
			port := s.First + int32(band[0]+(start+k)%n) // within 16 bits
			if !s.has(port) {
				s.set(port, true)
				return port, nil
			}
		}
	}
	return 0, errFull
}

// ports stores the set: each change replaces it as a whole by compare-and-put. Changes
// that arrive during a write are combined into the next write. It is safe for concurrent
// use.
//
//	T1 request A finds no writer: it becomes the writer and writes its change
//	T2 requests B and C arrive, append to waiting, and block on their results
//	T3 A's write ends; as the writer, A takes B and C and writes both changes at once
//	T4 B and C get their results; nothing waits, so A returns
type ports struct {
	store   store.Store
	decoder *codec.Decoder
	valid   PortRange

	mu      sync.Mutex
	waiting []*portChange
	writing bool

	// Used by the current writer only: current is the set stored at revision.
	known    bool
	current  portSet
	revision int64
}

// portChange is a change of the set. apply may be called several times, each time with a
// fresh set; the last call counts.
type portChange struct {
	apply func(set portSet) error
	ended chan error
}

// change makes a change and returns when it is stored: with apply's error, or the
// store's. A change without effect is not written. The set that apply sees is the stored
// one at the time of the change.
func (p *ports) change(ctx context.Context, apply func(set portSet) error) error {
	c := &portChange{apply: apply, ended: make(chan error, 1)}
	p.mu.Lock()
	p.waiting = append(p.waiting, c)
	if p.writing {
		p.mu.Unlock()
		// The writer has its own context, and handles this change even if ctx ends.
		return <-c.ended
	}
	p.writing = true
	p.mu.Unlock()
	p.writeAll(ctx)
	return <-c.ended
}

// writeAll writes until no changes wait.
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

// write makes a batch of changes to the newest set.
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
			// Another process may have changed the set meanwhile.
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

// errStale is returned by an attempt that needs the newest set.
var errStale = errors.New("the set may be out of date")

// retry calls attempt with the cached set, and with the newest one if that is stale or
// another process has written meanwhile.
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

// read reads the set from the store. A set of another range counts as empty; Repair then
// adds the ports of the Services.
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

// look calls apply with a copy of the set, which is discarded.
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
