package faulty

import (
	"errors"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/store"
)

// Operations is a set of kinds of operation.
type Operations uint8

// The kinds of operation. The zero value of Operations means all of them.
const (
	// Reads are Get, List and Revision.
	Reads Operations = 1 << iota
	// Writes are Put and Delete.
	Writes
	// Watches are Watch, when it starts, and RequestProgress.
	Watches
	// Compactions are Compact.
	Compactions
)

// Fault describes what happens to operations while it is injected.
type Fault struct {
	// Operations and Prefix select the operations whose key, or prefix of keys, starts with Prefix.
	// Operations without a key match the empty Prefix only.
	Operations Operations
	Prefix     string
	// Requests limits the fault to operations whose context is from store.ForRequest: an API
	// server's requests, not its watch caches. The latter cannot fail for long on a
	// virtual clock, which stands still until they succeed.
	Requests bool
	// Share is the fraction of the selected operations that are affected, in (0, 1]. 0
	// means all.
	Share float64
	// Latency is added to their duration, in time of the clock; operations that wait go on when
	// the fault is removed. Virtual time stands still while components of the cluster wait for
	// their requests, unless they can pause (inflight.With).
	Latency time.Duration
	// Err is the error that they return; nil: they succeed.
	Err error
	// Unknown makes half of the failed writes take effect, as when a store breaks before
	// it answers.
	Unknown bool
	// EndWatches ends the watches that are open when the fault is injected, with Err. On a
	// virtual clock the caller must remove the fault itself: time stands still until the
	// watchers have succeeded in watching again.
	EndWatches bool
	// HoldWatches keeps back the batches of the selected watches until the fault is removed. On a
	// virtual clock the caller must remove the fault itself: time stands still meanwhile.
	HoldWatches bool
	// delays are the operations that the fault delays. removed is closed by ended when the fault
	// is removed.
	delays  *inflight.Delays
	removed chan struct{}
	ended   func()
}

// Slow delays every operation by d, in time of the clock.
func Slow(d time.Duration) Fault { return Fault{Latency: d} }

// Unavailable is an unreachable etcd. Watches stay open and deliver no events, because no
// write succeeds.
func Unavailable() Fault {
	return Fault{Err: unavailable("rpc error: code = Unavailable desc = connection error: connection refused")}
}

// NoSpace is an etcd whose database has reached its quota: only writes that add data fail.
// Deletions succeed.
func NoSpace() Fault {
	return Fault{Operations: Writes, Err: &store.UnavailableError{Err: store.ErrNoSpace}}
}

// LeaderLoss is an etcd cluster without a leader: reads and writes time out after d, in
// time of the clock, some of the writes take effect, and watches end.
func LeaderLoss(d time.Duration) Fault {
	return Fault{
		Operations: Reads | Writes | Watches | Compactions, Latency: d,
		Err: unavailable("etcdserver: request timed out, possibly due to previous leader failure"), Unknown: true, EndWatches: true,
	}
}

func unavailable(message string) error {
	return &store.UnavailableError{Err: errors.New(message)}
}

func (f *Fault) meets(operation Operations, key string) bool {
	return (f.Operations == 0 || f.Operations&operation != 0) && strings.HasPrefix(key, f.Prefix)
}
