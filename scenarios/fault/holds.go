package fault

import (
	"context"
	"slices"
	"sync"
)

// Holds keeps what several faults break at the same time broken until the last of them
// is over. The zero value is ready to use; the faults of one cluster share one.
//
// Without it, of two faults that crash node-1, one for a minute and one for an hour, the
// first would start the node while the second still lasts.
type Holds struct {
	mu   sync.Mutex
	held map[string][]*holder // by what is broken, oldest first
}

// holder is one fault that holds something broken.
type holder struct{ breaks func() error }

// hold breaks what key names. The returned function gives up the hold: of the last
// holder it calls mends, of another one it breaks anew as the newest holder left does,
// since two faults may break the same thing in different ways. Both are called under a
// lock and must not wait. A failed break holds nothing. A nil Holds calls breaks and
// mends as they are.
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

// count is hold for what is mended by requests, which may wait: it breaks nothing, and
// release reports whether the caller is the last holder and has to mend. Each further
// call of release reports the same, unless another fault has taken hold meanwhile.
func (h *Holds) count(key string) (release func() (last bool)) {
	if h == nil {
		return func() bool { return true }
	}
	none := func() error { return nil }
	give, _ := h.hold(key, none, none)
	return func() bool {
		_ = give(context.Background()) // it calls none
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.held[key]) == 0
	}
}
