package flow

import (
	"context"
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/util/flowcontrol"
	flowmetrics "k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	flowrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"minikcm.dev/minikcm/internal/auth"
)

// maxWait is how long a request may wait in a queue, in real time: a quarter of upstream's
// request timeout of a minute.
const maxWait = 15 * time.Second

// Options configure a Control.
type Options struct {
	// Client reads the FlowSchemas and PriorityLevelConfigurations and updates the status
	// of FlowSchemas.
	Client kubernetes.Interface
	// Seats is the number of requests that are served at once, if each occupies one seat.
	Seats int
	// Size returns the number of stored objects of a resource and their bytes; ok is false
	// if that is not known.
	Size func(resource schema.GroupResource) (objects, bytes int64, ok bool)
}

// Control decides when requests are served.
type Control struct {
	handler http.Handler
	dumps   *mux.PathRecorderMux
	control flowcontrol.Interface
	stop    context.CancelFunc
	// stopped waits for the informers. A field for the factory would have every package with a
	// type that leads to this one compile parts of it (see clock/informers.Kinds).
	stopped func()
	running sync.WaitGroup
}

// Start returns a Control in front of next. Until it has read the configuration from
// Client, all requests have the priority level catch-all or exempt.
func Start(opts Options, next http.Handler) *Control {
	ctx, stop := context.WithCancel(context.Background())
	factory := informers.NewSharedInformerFactory(opts.Client, 0)
	c := &Control{stop: stop, stopped: factory.Shutdown}
	flowmetrics.Register() // in the process's registry, once
	c.control = flowcontrol.New(factory, opts.Client.FlowcontrolV1(), opts.Seats)
	estimate := flowrequest.NewWorkEstimator(statsOf(opts.Size), c.control.GetInterestedWatchCount, flowrequest.DefaultWorkEstimatorConfig(), c.control.GetMaxSeats)
	c.handler = filters.WithPriorityAndFairness(next, longRunning, c.control, estimate, maxWait)
	c.dumps = mux.NewPathRecorderMux("priority-and-fairness")
	c.control.Install(c.dumps)
	factory.Start(ctx.Done())
	c.running.Go(func() {
		// Run returns an error only if it is stopped before the informers have synced.
		_ = c.control.Run(ctx.Done())
	})
	return c
}

// Stop ends the goroutines. Requests are still served afterwards. A nil Control, and one that
// has stopped, may be stopped.
func (c *Control) Stop() {
	if c == nil {
		return
	}
	c.stop()
	c.stopped()
	c.running.Wait()
}

// Serve serves the request of u when it is its turn. The context of r has the RequestInfo.
func (c *Control) Serve(w http.ResponseWriter, r *http.Request, u *auth.User) {
	ctx := apirequest.WithUser(r.Context(), &user.DefaultInfo{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra})
	c.handler.ServeHTTP(w, r.WithContext(ctx))
}

// Dump serves upstream's debugging endpoints beneath /debug/api_priority_and_fairness/:
// dump_priority_levels, dump_queues and dump_requests.
func (c *Control) Dump(w http.ResponseWriter, r *http.Request) { c.dumps.ServeHTTP(w, r) }

// WatchInitialized gives back the seats of a watch, whose initial events have been sent.
func WatchInitialized(ctx context.Context) { flowcontrol.WatchInitialized(ctx) }

var (
	longVerbs        = sets.NewString("watch", "proxy")
	longSubresources = sets.NewString("attach", "exec", "proxy", "log", "portforward")
)

func longRunning(r *http.Request, info *apirequest.RequestInfo) bool {
	return IsLongRunning(info)
}

// IsLongRunning reports whether a request may last, as upstream decides it: by verb and
// subresource only.
func IsLongRunning(info *apirequest.RequestInfo) bool {
	return longVerbs.Has(info.Verb) || info.IsResourceRequest && longSubresources.Has(info.Subresource)
}

func statsOf(size func(schema.GroupResource) (objects, bytes int64, ok bool)) func(string) (storage.Stats, error) {
	return func(resource string) (storage.Stats, error) {
		objects, bytes, ok := size(schema.ParseGroupResource(resource))
		if !ok {
			return storage.Stats{}, flowrequest.ObjectCountNotFoundErr
		}
		stats := storage.Stats{ObjectCount: objects}
		if objects > 0 {
			stats.EstimatedAverageObjectSizeBytes = bytes / objects
		}
		return stats, nil
	}
}
