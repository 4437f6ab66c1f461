package determinism

import (
	"context"
	"net/http"
	"time"

	"minikcm.dev/minikcm"
)

// suffer injects a fault of the API server for a while and kills pods meanwhile.
func suffer(rule minikcm.APIFault, d time.Duration) step {
	return func(ctx context.Context, driver *driver) error {
		remove := driver.cluster.APIFaults().Inject(rule)
		defer remove()
		const pieces = 5
		for range pieces {
			if err := inOrder(ctx, driver, kill("web"), kill("agent"), pass(d/pieces)); err != nil {
				return err
			}
		}
		return nil
	}
}

// dropWatches ends some of the watches.
func dropWatches(share float64) step {
	return func(_ context.Context, d *driver) error {
		d.cluster.APIFaults().DropWatches(minikcm.APIFaultMatch{}, share)
		return nil
	}
}

// restart empties the watch history and stops the API server for a while.
func restart(away time.Duration) step {
	return func(ctx context.Context, d *driver) error {
		if err := d.cluster.ForgetHistory(ctx); err != nil {
			return err
		}
		up := d.cluster.APIFaults().Down()
		defer up()
		return d.cluster.Advance(ctx, away)
	}
}

// flaky runs a cluster whose API server fails in every way. The retries of informers and
// controllers are the same in each run.
func flaky(ctx context.Context, d *driver) error {
	d.cluster.APIFaults().Exempt(minikcm.AdminUser)
	writes := minikcm.APIFaultMatch{Verbs: []string{"create", "update", "patch", "delete"}}
	reads := minikcm.APIFaultMatch{Verbs: []string{"get", "list", "watch"}}
	return inOrder(ctx, d,
		deployment("web", 6), service("web"), budget("web", 4), statefulSet("db", 3), daemonSet("agent"), cronJob("tick", "* * * * *"), pass(20*time.Second),
		dropWatches(0), pass(0), suffer(minikcm.APIFault{Share: 0.3, Code: http.StatusInternalServerError}, 2*time.Minute),
		roll("web", "image:2"), suffer(minikcm.APIFault{Match: reads, Share: 0.7, Code: http.StatusServiceUnavailable}, time.Minute),
		restart(20*time.Second), pass(time.Minute),
		suffer(minikcm.APIFault{Share: 0.5, Code: http.StatusTooManyRequests, RetryAfter: 1}, time.Minute),
		dropWatches(0.5), pass(0), suffer(minikcm.APIFault{Share: 0.5, Code: http.StatusTooManyRequests}, time.Minute),
		suffer(minikcm.APIFault{Match: writes, Share: 0.6, Code: http.StatusConflict}, time.Minute), roll("web", "image:3"),
		suffer(minikcm.APIFault{Share: 0.5, Latency: 200 * time.Millisecond, Jitter: 2 * time.Second}, 2*time.Minute),
		dropWatches(0), pass(0), suffer(minikcm.APIFault{Match: reads, Code: http.StatusInternalServerError}, time.Minute),
		pass(5*time.Minute),
	)
}
