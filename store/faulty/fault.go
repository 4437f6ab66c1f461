package faulty

import (
	"errors"
	"strings"
	"time"

	"minikcm.dev/minikcm/store"
)

// Operations are a set of kinds of operation.
type Operations uint8

// The kinds of operation. The zero value of Operations means all of them.
const (
	// Reads are Get, List and Revision.
	Reads Operations = 1 << iota
	// Writes are Put and Delete.
	Writes
	// Watches are the beginnings of watches, and RequestProgress.
	Watches
	// Compactions are Compact.
	Compactions
)

// Fault is what happens to operations while it is injected.
type Fault struct {
	// Operations and Prefix say to which it happens: to keys, and prefixes of keys,
	// that start with Prefix. Operations without a key are met by an empty Prefix only.
	Operations Operations
	Prefix     string
	// Requests lets it happen only to operations whose context is from store.ForRequest: those of
	// an API server's requests, and not those by which it follows the store. Those cannot
	// fail for long on a virtual clock, which stands still until they succeed.
	Requests bool
	// Share is the share of them that it happens to, in (0, 1]. 0 is all.
	Share float64
	// Latency is how much longer they take, of the clock's time. Virtual time stands
	// still while the cluster's own parts wait for their requests, as they are at work
	// then: on a virtual clock, a delay is for what only requests from outside do.
	Latency time.Duration
	// Err is what they fail with; nil: they do not fail.
	Err error
	// Unknown has writes that fail be made in one half of the cases, as when a store
	// breaks before it could answer.
	Unknown bool
	// EndWatches ends the watches that are open at the time of the injection, with Err.
	// On a virtual clock it must be removed by hand: time stands still until whoever
	// watched has succeeded in doing so again.
	EndWatches bool
}

// Slow makes every operation take longer by d, of the clock's time.
func Slow(d time.Duration) Fault { return Fault{Latency: d} }

// Unavailable is an etcd that nobody reaches. Watches stay open and tell of nothing
// that could happen, as nothing can be written.
func Unavailable() Fault {
	return Fault{Err: unavailable("rpc error: code = Unavailable desc = connection error: connection refused")}
}

// NoSpace is an etcd whose database is as large as it may be: only writes that add
// something fail. Deletions go on.
func NoSpace() Fault {
	return Fault{Operations: Writes, Err: &store.UnavailableError{Err: store.ErrNoSpace}}
}

// LeaderLoss is an etcd cluster that has no leader: reads and writes time out after d,
// of the clock's time, some writes have been made all the same, and watches end.
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
