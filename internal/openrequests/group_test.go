package openrequests_test

import (
	"testing"

	"minikcm.dev/minikcm/internal/openrequests"
)

func TestClose(t *testing.T) {
	t.Parallel()
	var g openrequests.Group
	ctx, end, ok := g.Begin(t.Context())
	if !ok {
		t.Fatal("a new Group refuses a request")
	}
	closed := make(chan struct{})
	go func() {
		g.Close()
		close(closed)
	}()
	<-ctx.Done()
	select {
	case <-closed:
		t.Error("Close returned before the request ended")
	default:
	}
	if _, _, ok := g.Begin(t.Context()); ok {
		t.Error("a closing Group accepts a request")
	}
	end()
	<-closed
	g.Close() // again has no effect
}
