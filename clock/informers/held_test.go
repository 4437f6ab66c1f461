package informers_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/inflight"
)

// attached is a handler that knows its informer.
type attached struct {
	cache.ResourceEventHandlerFuncs
	inflight.Source
}

func (h *attached) Attach(source inflight.Source) { h.Source = source }

// While stages are held, each event stops before the reflector, before the queue and in the handlers, one event at a time, and
// nothing is lost when the hold ends, or the watch does.
func TestHeldEvents(t *testing.T) {
	for _, contentType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		t.Run(contentType, func(t *testing.T) {
			c := newCluster(t, contentType, informers.Staged())
			shared := c.factory.Core().V1().ConfigMaps().Informer()
			var got []string // guarded by the steps: each of them ends before the next one
			for _, name := range []string{"a", "b"} {
				h := &attached{}
				h.AddFunc = func(obj any) {
					h.StopHandler(obj, inflight.Waiting{Name: name, Detail: name})
					if name == "a" {
						got = append(got, fmt.Sprint(len(shared.GetStore().List())))
					}
				}
				if _, err := shared.AddEventHandler(h); err != nil {
					t.Fatal(err)
				}
			}
			c.factory.Start(c.ctx.Done())
			c.idle(t)
			c.ledger.PauseStages()
			for _, name := range []string{"x", "y", "z"} {
				c.write(watch.Added, name, nil)
			}
			var stops []string
			for range 8 {
				if err := c.ledger.WaitPaused(c.ctx); err != nil {
					t.Fatal(err)
				}
				at, _ := c.ledger.Next()
				if d, ok := at.Detail.(informers.Delivery); ok {
					stops = append(stops, strings.TrimSpace(fmt.Sprintf("%s queue=%v %d", d.Event, d.Queue, d.Behind())))
				} else {
					stops = append(stops, "handler")
				}
				if _, err := c.ledger.Step(c.ctx); err != nil {
					t.Fatal(err)
				}
			}
			one := func(behind int) []string {
				return []string{fmt.Sprintf("ADDED queue=false %d", behind), fmt.Sprintf("queue=true %d", behind), "handler", "handler"}
			}
			if want := slices.Concat(one(2), one(1)); !slices.Equal(stops, want) {
				t.Errorf("stops = %q\nwant    %q", stops, want)
			}
			c.ledger.ResumeWork()
			c.idle(t)
			if !slices.Equal(got, []string{"1", "2", "3"}) {
				t.Errorf("the handler was called when the cache had %v objects", got)
			}
			c.ledger.PauseStages()
			c.write(watch.Added, "before the end", nil)
			c.breakStreams(false)
			if err := c.ledger.WaitPaused(c.ctx); err != nil { // what ends does not wait
				t.Fatal(err)
			}
			c.ledger.ResumeWork()
			c.idle(t)
			if n := len(shared.GetStore().List()); n != 4 {
				t.Errorf("after the watch broke, the cache has %d objects", n)
			}
		})
	}
}

// Without a hold, or for informers that are not staged, nothing stops.
func TestNotHeld(t *testing.T) {
	c := newCluster(t, runtime.ContentTypeJSON)
	shared := c.factory.Core().V1().ConfigMaps().Informer()
	c.factory.Start(c.ctx.Done())
	c.idle(t)
	c.ledger.PauseStages()
	c.write(watch.Added, "x", nil)
	if err := c.ledger.WaitPaused(context.WithoutCancel(c.ctx)); err != nil {
		t.Fatal(err)
	}
	if n := len(shared.GetStore().List()); n != 1 {
		t.Errorf("the cache has %d objects", n)
	}
	c.ledger.ResumeWork()
}
