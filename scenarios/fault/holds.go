package fault

import (
	"context"
	"slices"
	"sync"
)

// Holds counts the faults that break the same thing at the same time, so that it is mended
// only when the last of them is over. The zero value is ready to use. The faults of one
// cluster share one.
//
// Without it, of two faults that crash node-1, one for a minute and one for an hour, the
// first would start the node while the second still lasts.
type Holds struct {
	mu   sync.Mutex
	held map[string][]*holder // by what is broken, oldest first
}

// holder is one fault that holds something broken.
type holder struct{ breaks func() error }

// hold breaks what key names, and returns a function that gives up the hold. The last holder
// to give up calls mends. Before that, the newest holder that is left breaks the thing again,
// since two faults may break it in different ways:
//
//	A holds: slow by 1s     the node is slow by 1s
//	B holds: slow by 5s     the node is slow by 5s
//	B gives up              A breaks again: slow by 1s
//	A gives up              mends
//
// breaks and mends are called under a lock and must not wait. A break that fails holds
// nothing. A nil Holds calls breaks and mends as they are.
func (h *Holds) hold(key string, breaks, mends func() error) (injected, error) {
	if h == nil {
		return func(context.Context) error { return mends() }, breaks()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := breaks(); err != nil {
		return nil, err
	}
	own := &holder{breaks: breaks}
	if h.held == nil {
		h.held = map[string][]*holder{}
	}
	h.held[key] = append(h.held[key], own)
	return func(context.Context) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		left := slices.DeleteFunc(h.held[key], func(other *holder) bool { return other == own })
		if len(left) > 0 {
			h.held[key] = left
			return left[len(left)-1].breaks()
		}
		delete(h.held, key)
		return mends()
	}, nil
}

// count is hold for faults that are injected and taken back by requests, which may wait. It breaks
// nothing. release reports whether the caller was the last holder and has to mend; further calls
// report the same, unless another fault has taken hold meanwhile.
func (h *Holds) count(key string) (release func() (last bool)) {
	if h == nil {
		return func() bool { return true }
	}
	none := func() error { return nil }
	give, _ := h.hold(key, none, none)
	return func() bool {
		_ = give(context.Background()) // it never fails
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.held[key]) == 0
	}
}
