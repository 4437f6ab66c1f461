package box

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"minikcm.dev/minikcm/clock"
)

func fmtSscan(text string, into ...any) (int, error) { return fmt.Sscan(text, into...) }

// waitingBuffer holds the text that a terminal shows.
type waitingBuffer struct {
	mu      sync.Mutex
	text    string
	changed chan struct{}
}

func (b *waitingBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text += string(p)
	select {
	case b.changed <- struct{}{}:
	default:
	}
	return len(p), nil
}

// waitFor returns when the text has come, and forgets it and all before it.
func (b *waitingBuffer) waitFor(t *testing.T, text string) {
	t.Helper()
	timeout := clock.Real().NewTimer(time.Minute)
	defer timeout.Stop()
	for {
		b.mu.Lock()
		if _, after, found := strings.Cut(b.text, text); found {
			b.text = after
			b.mu.Unlock()
			return
		}
		shown := b.text
		b.mu.Unlock()
		select {
		case <-b.changed:
		case <-timeout.C():
			t.Fatalf("waiting for %q, the terminal shows %q", text, shown)
		}
	}
}
