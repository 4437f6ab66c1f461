package clock

import (
	"context"
	"time"

	"minikcm.dev/minikcm/internal/inflight"
)

// ErrTimeout is the cause with which contexts of WithTimeout end. It is also a
// context.DeadlineExceeded, and reads as the error of a client of net/http whose timeout is over.
var ErrTimeout error = timeoutError{}

type timeoutError struct{}

func (timeoutError) Error() string {
	return "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
}

// Timeout implements net.Error's method.
func (timeoutError) Timeout() bool { return true }

// Temporary implements net.Error's method.
func (timeoutError) Temporary() bool { return true }

// Unwrap returns context.DeadlineExceeded.
func (timeoutError) Unwrap() error { return context.DeadlineExceeded }

// WithTimeout bounds a request by the timeout of its client, on the cluster's clock. On virtual time,
// it costs a timer only if the request waits.
func WithTimeout(parent context.Context, c Clock, d time.Duration) (ctx context.Context, stop context.CancelFunc) {
	if _, virtual := c.(*Virtual); virtual {
		return inflight.WithLimitCause(parent, c, d, ErrTimeout)
	}
	return inflight.WithTimeoutCause(parent, c, d, ErrTimeout)
}
