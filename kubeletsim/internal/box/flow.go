package box

import (
	"context"
	"io"
	"net/netip"
	"sync"
	"syscall"
	"time"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/kubeletsim/internal/shell"
)

// flowSize is the number of bytes of one direction of a connection at which its writer has to wait.
const flowSize = 64 << 10

// flow is one direction of a connection between two programs. What one of them does arrives a delay later, on the cluster's clock. No
// other program runs when the timer fires, so that what arrives together does not depend on which program ran first:
//
//	the writer              the clock               the reader
//	write: sets a timer                             read: pauses
//	write: adds to the piece
//	pauses
//	                        arrive: resumes it
//	                                                gets both pieces
type flow struct {
	clock clock.Clock
	// delay is the time on the way; 0: all arrives at once.
	delay time.Duration
	// memory keeps the bytes: the writer's. It may be nil.
	memory shell.Memory
	// size is the number of bytes at which the writer waits; 0: it never does.
	size int

	mu      sync.Mutex
	way     []piece
	held    int // bytes on the way, and those that have arrived and were not read
	arrived []byte
	// sent is the state in which the programs have left the flow, and known the one that has arrived.
	sent, known flowState
	// changed is opened when something has changed; nil: nothing waits for that.
	changed *inflight.Latch
}

// flowState says how a flow was left.
type flowState struct {
	// ended means that the writer sends no more, and broken that it has reset the connection.
	ended, broken bool
	// abandoned means that the reader has closed its end.
	abandoned bool
}

// piece is what is on the way together.
type piece struct {
	due   time.Time
	data  []byte
	state flowState
}

// depart puts bytes, and the present state, on the way. It requires the lock.
func (f *flow) depart(data []byte) {
	if f.delay == 0 {
		f.land(piece{data: data, state: f.sent})
		return
	}
	due := f.clock.Now().Add(f.delay)
	if n := len(f.way); n > 0 && due.Sub(f.way[n-1].due) < networkDelay/2 { // which bounds the timers
		f.way[n-1].data, f.way[n-1].state = append(f.way[n-1].data, data...), f.sent
		return
	}
	f.way = append(f.way, piece{due, append([]byte(nil), data...), f.sent})
	f.clock.AfterFunc(f.delay, f.arrive)
}

// arrive is called when the oldest piece is due.
func (f *flow) arrive() {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.way[0]
	f.way = f.way[1:]
	f.land(first)
}

// land hands a piece over. It requires the lock.
func (f *flow) land(p piece) {
	f.arrived = append(f.arrived, p.data...)
	f.known = p.state
	if f.known.abandoned || f.known.broken {
		f.drop(len(f.arrived))
	}
	f.wake()
}

// drop removes the first bytes. It requires the lock.
func (f *flow) drop(n int) {
	if f.arrived = f.arrived[n:]; len(f.arrived) == 0 {
		f.arrived = nil
	}
	f.held -= n
	if f.memory != nil {
		f.memory.Release(int64(n))
	}
}

func (f *flow) wake() {
	if f.changed != nil {
		f.changed.Open()
		f.changed = nil
	}
}

// wait waits for a change. It requires the lock, and returns with it.
func (f *flow) wait(ctx context.Context) error {
	if f.changed == nil {
		f.changed = &inflight.Latch{}
	}
	changed := f.changed
	f.mu.Unlock()
	defer f.mu.Lock()
	return changed.Wait(ctx)
}

// read returns what has arrived. The error is io.EOF, ECONNRESET, or the cause of ctx's end.
func (f *flow) read(ctx context.Context, into []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.arrived) == 0 {
		switch {
		case f.known.broken:
			return 0, syscall.ECONNRESET
		case f.known.ended:
			return 0, io.EOF
		}
		if err := f.wait(ctx); err != nil {
			return 0, err
		}
	}
	n := copy(into, f.arrived)
	f.drop(n)
	f.wake()
	return n, nil
}

// write sends data. The error is EPIPE, the one of the writer's memory, or the cause of ctx's end.
func (f *flow) write(ctx context.Context, data []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	written := 0
	for written < len(data) {
		for f.size > 0 && f.held >= f.size && !f.known.abandoned {
			if err := f.wait(ctx); err != nil {
				return written, err
			}
		}
		if f.known.abandoned || f.sent.ended {
			return written, syscall.EPIPE
		}
		n := len(data) - written
		if f.size > 0 {
			n = min(n, f.size-f.held)
		}
		if f.memory != nil {
			if err := f.memory.Reserve(int64(n)); err != nil {
				return written, err
			}
		}
		f.held += n
		f.depart(data[written : written+n])
		written += n
	}
	return written, nil
}

// leave changes the state in which the programs leave the flow.
func (f *flow) leave(change func(s *flowState)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.sent
	if change(&f.sent); f.sent != before {
		f.depart(nil)
	}
}

// end is a program's end of a connection. As a stream of a program, its reads and writes wait on the cluster's clock.
type end struct {
	in, out *flow
	// peer is the address of the other end, for the program that has accepted the connection.
	peer netip.AddrPort
	// session is the program's command.
	session *session
	// closed, if not nil, is called by the first close.
	closed func()
	once   sync.Once
}

// pausing returns a context for a wait of the calling part of the command.
func (e *end) pausing(ctx context.Context) context.Context {
	shell.TurnOf(ctx).End()
	e.session.machine.Main.paused()
	return inflight.WithPauser(inflight.Alone(ctx), &absence{&e.session.attention, []<-chan struct{}{ctx.Done()}})
}

// ReadContext implements shell.Reader.
func (e *end) ReadContext(ctx context.Context, into []byte) (int, error) {
	return e.in.read(e.pausing(ctx), into)
}

// WriteContext implements shell.Writer.
func (e *end) WriteContext(ctx context.Context, data []byte) (int, error) {
	return e.out.write(e.pausing(ctx), data)
}

// finish ends what the program sends, which may still receive.
func (e *end) finish() { e.out.leave(func(s *flowState) { s.ended = true }) }

// close ends both directions: with a reset, if the program was killed. Only the first call has an effect.
func (e *end) close(reset bool) {
	e.once.Do(func() {
		e.out.leave(func(s *flowState) { s.broken, s.ended = reset && !s.ended, true })
		e.in.leave(func(s *flowState) { s.abandoned = true })
		if e.session != nil {
			e.session.forget(e)
		}
		if e.closed != nil {
			e.closed()
		}
	})
}
