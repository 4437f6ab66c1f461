package informers_test

import (
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// A list without objects says that all known ones are gone: time stands still until all handlers have returned from that.
func TestEmptyList(t *testing.T) {
	for _, plain := range []bool{false, true} {
		t.Run(map[bool]string{false: "streamed", true: "plain"}[plain], func(t *testing.T) {
			t.Parallel()
			r := newRetrying(t, 1)
			r.plain = plain
			called, returns := make(chan struct{}), make(chan struct{})
			if _, err := r.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) {
				called <- struct{}{}
				<-returns
			}}); err != nil {
				t.Fatal(err)
			}
			r.advance(0)
			r.breaks("second")
			r.fail(http.StatusGone, nil)
			r.forget("first")
			r.forget("second")
			advanced := make(chan error)
			go func() { advanced <- r.clock.Advance(t.Context(), time.Minute) }()
			for range 2 {
				<-called
				r.fail(0, nil)
				// The other handler and the server's ends of the connection come to rest; this handler does not.
				for range 10_000 {
					spin()
					if r.ledger.Idle() {
						t.Error("time may pass while a handler has not returned")
						break
					}
				}
				returns <- struct{}{}
			}
			if err := <-advanced; err != nil {
				t.Fatal(err)
			}
			if r.handler.has("first") || r.handler.has("second") {
				t.Error("a handler has not seen that the objects are gone")
			}
			r.write(watch.Added, "later", map[string]string{"n": "1"})
			r.advance(0)
			r.sees("later")
		})
	}
}

// A handler that goes is not waited for, and neither is a list that does not come to its end.
func TestEmptyListAndHandlersThatGo(t *testing.T) {
	t.Parallel()
	r := newRetrying(t, 1)
	called, returns := make(chan struct{}), make(chan struct{})
	stuck, err := r.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) {
		close(called)
		<-returns
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer close(returns)
	r.advance(0)
	r.breaks("second")
	r.fail(http.StatusGone, nil)
	r.forget("first")
	r.forget("second")
	advanced := make(chan error)
	go func() { advanced <- r.clock.Advance(t.Context(), time.Minute) }()
	<-called
	if err := r.informer.RemoveEventHandler(stuck); err != nil {
		t.Fatal(err)
	}
	if err := <-advanced; err != nil {
		t.Fatal(err)
	}
}
