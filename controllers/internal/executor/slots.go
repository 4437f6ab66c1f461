package executor

import "context"

// requestsAtOnce is the number of requests that one controller has in flight at a time. The
// API server serves all clients at the same speed, so a client's share of it is its share of
// the requests in flight. When ten ReplicaSets of 10,000 pods are created, five workers with
// 64 requests each leave little to the 16 bindings of the scheduler and the 16 renewals of
// leases: nodes become NotReady while pods are created that wait for a node anyway.
const requestsAtOnce = 16

// slots limit the requests in flight.
type slots chan struct{}

// take waits for a slot, which give returns.
func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s slots) give() { <-s }
