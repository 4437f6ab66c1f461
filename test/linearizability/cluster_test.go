package linearizability

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/faulty"
	"minikcm.dev/minikcm/internal/storetest"
	"minikcm.dev/minikcm/minikcmtest"
	"minikcm.dev/minikcm/store"
)

// server starts an apiserver on a socket, with store faults.
func server(t *testing.T, change func(*minikcm.Options)) *minikcmtest.Cluster {
	t.Helper()
	return minikcmtest.New(t, minikcmtest.WithHTTPS(), minikcmtest.WithFaults(), minikcmtest.WithNodes(0), minikcmtest.WithControllers("-*"),
		minikcmtest.WithOptions(func(o *minikcm.Options) {
			o.Controllers.NoScheduler, o.Nodes.Manage = true, minikcm.ManageNone
			if change != nil {
				change(o)
			}
		}))
}

// endpoint returns a client that uses a cluster's socket.
func endpoint(t *testing.T, c *minikcmtest.Cluster, wrap func(http.RoundTripper) http.RoundTripper) kubernetes.Interface {
	t.Helper()
	config, err := c.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	if wrap != nil {
		config.Wrap(wrap)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// small is a workload of some seconds.
func small(endpoints ...kubernetes.Interface) Workload {
	return Workload{Endpoints: endpoints, Clients: 6, Watchers: 3, Keys: 4, Operations: 150, Timeout: 10 * time.Second, Random: clock.NewRandom(1)}
}

func run(t *testing.T, w Workload) *Record {
	t.Helper()
	finish, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	record, err := w.Run(finish, finish)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d operations (%d unknown), %d without effect, %d streams, %d watches restarted", len(record.Operations), record.Unknown(), record.Refused, len(record.Streams), record.Restarted)
	return record
}

// breaking injects a fault into each store in turn: from the 30th of 60 operations to the 50th.
type breaking struct {
	stores []*faulty.Store
	faults []faulty.Fault

	mu     sync.Mutex
	next   int
	remove func()
}

func (b *breaking) before(n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch n % 60 {
	case 30:
		if b.remove == nil {
			b.remove = b.stores[b.next%len(b.stores)].Inject(b.faults[b.next%len(b.faults)])
			b.next++
		}
	case 50:
		b.heal()
	}
}

func (b *breaking) heal() {
	if b.remove != nil {
		b.remove()
		b.remove = nil
	}
}

func newBreaking(clusters ...*minikcmtest.Cluster) *breaking {
	unknown := faulty.LeaderLoss(time.Millisecond)
	unknown.Share = 0.5
	b := &breaking{faults: []faulty.Fault{unknown, faulty.Slow(2 * time.Millisecond), faulty.Unavailable(), faulty.LeaderLoss(time.Millisecond)}}
	for _, c := range clusters {
		b.stores = append(b.stores, c.StoreFaults())
	}
	return b
}

// runBroken runs a workload under store faults and checks its record.
func runBroken(t *testing.T, w Workload, clusters ...*minikcmtest.Cluster) {
	t.Helper()
	b := newBreaking(clusters...)
	// The last operations are without faults: the history must end.
	last := int64(w.Clients*w.Operations - 60)
	w.Before = func(n int64) {
		if n < last {
			b.before(n)
		} else {
			b.mu.Lock()
			b.heal()
			b.mu.Unlock()
		}
	}
	record := run(t, w)
	if err := record.Check(); err != nil {
		t.Error(err)
	}
	if record.Unknown() == 0 || record.Restarted == 0 && len(record.Streams) == w.Watchers {
		t.Error("the faults had no effect")
	}
}

// One process with an embedded etcd that breaks.
func TestOneProcess(t *testing.T) {
	c := server(t, nil)
	runBroken(t, small(endpoint(t, c, nil)), c)
}

// Three processes on one etcd, whose connections to it break. Each request goes to any.
func TestThreeProcesses(t *testing.T) {
	etcd := storetest.StartEtcd(t, storetest.EtcdOptions{})
	var clusters []*minikcmtest.Cluster
	var endpoints []kubernetes.Interface
	for range 3 {
		c := server(t, func(o *minikcm.Options) { o.Sharing.Etcd = store.EtcdOptions{Endpoints: []string{etcd}} })
		clusters, endpoints = append(clusters, c), append(endpoints, endpoint(t, c, nil))
	}
	runBroken(t, small(endpoints...), clusters...)
}

// roundTrip is a planted mistake: it answers in place of the server.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// staleGets answers every second get of an object with the answer of the get before.
func staleGets(next http.RoundTripper) http.RoundTripper {
	var mu sync.Mutex
	before := map[string][]byte{}
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/configmaps/") || response.StatusCode != http.StatusOK {
			return response, err
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		if old := before[r.URL.Path]; old != nil {
			body = old
			delete(before, r.URL.Path)
		} else {
			before[r.URL.Path] = body
		}
		response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return response, nil
	})
}

// lostDeletes acknowledges deletes without making them.
func lostDeletes(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodDelete {
			return next.RoundTrip(r)
		}
		body := `{"kind":"Status","apiVersion":"v1","status":"Success"}`
		return &http.Response{
			StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
			Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		}, nil
	})
}

// droppedUpdates sends the conditions of updates to the server, and not the values: it makes
// a dry run.
func droppedUpdates(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodPut {
			r = r.Clone(r.Context())
			r.URL.RawQuery = "dryRun=All"
		}
		return next.RoundTrip(r)
	})
}

// The checker sees planted mistakes.
func TestPlantedMistakes(t *testing.T) {
	for name, mistake := range map[string]func(http.RoundTripper) http.RoundTripper{
		"stale gets": staleGets, "lost deletes": lostDeletes, "dropped updates": droppedUpdates,
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir()) // for the picture
			c := server(t, nil)
			// Etcd's directory is in the test's, too.
			err := run(t, small(endpoint(t, c, mistake))).Check()
			if err == nil || !strings.Contains(err.Error(), "the history is not linearizable") {
				t.Errorf("the verdict is %v", err)
			}
		})
	}
}
