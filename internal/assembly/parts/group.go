package parts

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// part is something that runs from the cluster's start to its end.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// errUnexpected is the failure of a part that ends without an error.
var errUnexpected = errors.New("it stopped unexpectedly")

// Group runs parts, and ends with the first one that fails.
type Group struct {
	running  sync.WaitGroup
	failOnce sync.Once
	failure  error // set when done is closed
	done     chan struct{}
}

// NewGroup returns a group without parts.
func NewGroup() *Group { return &Group{done: make(chan struct{})} }

// Done is closed when the group has ended.
func (g *Group) Done() <-chan struct{} { return g.done }

// Err returns why the group ended, once Done is closed; nil if End was called without an error.
func (g *Group) Err() error {
	select {
	case <-g.done:
		return g.failure
	default:
		return nil
	}
}

// End closes Done. The first call determines what Err returns.
func (g *Group) End(err error) {
	g.failOnce.Do(func() {
		g.failure = err
		close(g.done)
	})
}

// run runs a part until ctx ends. The group ends if the part ends before.
func (g *Group) run(ctx context.Context, p part) {
	g.running.Go(func() {
		err := p.run(ctx)
		if ctx.Err() == nil {
			if err == nil {
				err = errUnexpected
			}
			g.End(fmt.Errorf("the %s failed: %w", p.name, err))
		}
	})
}
