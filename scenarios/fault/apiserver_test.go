package fault

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/internal/inflight"
)

// call makes a request as another user, while time goes on.
func (b *bench) call(do func(context.Context) error) (took time.Duration, err error) {
	b.Helper()
	done := make(chan struct{})
	begun := b.cluster.Clock().Now()
	work := inflight.Begin(b.cluster.Ledger(), inflight.Action) // time passes only while it waits for that
	go func() {
		defer close(done)
		defer work.End()
		err = do(inflight.With(b.Context(), work))
	}()
	b.wait(done)
	return b.cluster.Clock().Since(begun), err
}

func (b *bench) create(name string) (time.Duration, error) {
	b.Helper()
	return b.call(func(ctx context.Context) error {
		_, err := b.other.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	})
}

func TestAPIErrors(t *testing.T) {
	t.Parallel()
	for text, is := range map[string]func(error) bool{
		"{action: error, code: 500}":                               apierrors.IsInternalError,
		"{action: error, code: 503}":                               apierrors.IsServiceUnavailable,
		"{action: error, code: 504}":                               apierrors.IsTimeout,
		"{action: error, code: 403, verbs: [create]}":              apierrors.IsForbidden,
		"{action: error, code: 410}":                               func(err error) bool { return apierrors.IsGone(err) || apierrors.IsResourceExpired(err) },
		"{action: conflicts, verbs: [create]}":                     apierrors.IsConflict,
		"{action: tooManyRequests, resources: [configmaps]}":       apierrors.IsTooManyRequests,
		"{action: error, resources: [secrets]}":                    func(err error) bool { return err == nil },
		"{action: error, users: [no-such-user]}":                   func(err error) bool { return err == nil },
		"{action: error, resources: [configmaps], verbs: [patch]}": func(err error) bool { return err == nil },
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			f := read(t, "apiserver: "+text)
			b := newBench(t, f)
			b.run(f)
			if _, err := b.create("a"); !is(err) {
				t.Errorf("meanwhile: %v", err)
			}
			if _, err := b.client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Errorf("the scenario's own client: %v", err)
			}
			b.over()
			if _, err := b.create("b"); err != nil {
				t.Errorf("in the end: %v", err)
			}
		})
	}
}

func TestAPILatency(t *testing.T) {
	t.Parallel()
	f := read(t, "{apiserver: {action: latency, delay: 3s}, for: 5m}")
	b := newBench(t, f)
	wait := b.begin(t.Context(), f)
	b.advance(time.Second)
	if took, err := b.create("a"); err != nil || took < 3*time.Second {
		t.Errorf("a write takes %v: %v", took, err)
	}
	b.web(2)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if took, err := b.create("b"); err != nil || took > 0 {
		t.Errorf("in the end it takes %v: %v", took, err)
	}
}

// Clients that honour Retry-After wait for it on the cluster's clock.
func TestAPITooManyRequestsEnd(t *testing.T) {
	t.Parallel()
	f := read(t, "{apiserver: {action: tooManyRequests, retryAfter: 2}, for: 7s}")
	b := newBench(t, f)
	wait := b.begin(t.Context(), f)
	b.advance(0)
	if took, err := b.create("a"); err != nil || took < 6*time.Second {
		t.Errorf("a write takes %v: %v", took, err)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
}

func TestAPIConflictStorm(t *testing.T) {
	t.Parallel()
	f := read(t, "{apiserver: {action: conflicts, percent: 70}, for: 2m}")
	b := newBench(t, f)
	wait := b.begin(t.Context(), f)
	b.web(3)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Minute)
	b.wantReady(3)
}

func TestAPIWatchesAndRestart(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{apiserver: {action: dropWatches}, every: 5s, times: 3}", "apiserver: {action: restart}", "{apiserver: {action: compact}, every: 1m, times: 3}"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			f := read(t, text)
			b := newBench(t, f)
			b.web(2)
			b.run(f)
			b.run(read(t, "pods: {action: kill, all: true}"))
			b.advance(time.Minute)
			b.wantReady(2)
		})
	}
}

// A watch that is dropped in virtual time says where it was, or else client-go would wait
// for the machine's time.
func TestDroppedWatchSaysWhereItWas(t *testing.T) {
	t.Parallel()
	f := read(t, "apiserver: {action: dropWatches, resources: [configmaps]}")
	b := newBench(t, f)
	b.advance(time.Second)
	maps := b.other.CoreV1().ConfigMaps("default")
	list, err := maps.List(b.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	watching, err := maps.Watch(b.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion, AllowWatchBookmarks: true})
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Stop()
	b.run(f)
	last := <-watching.ResultChan()
	if cm, ok := last.Object.(*corev1.ConfigMap); !ok || last.Type != watch.Bookmark || cm.ResourceVersion != list.ResourceVersion {
		t.Errorf("the last word is %s %v, want a bookmark of %s", last.Type, last.Object, list.ResourceVersion)
	}
	if _, open := <-watching.ResultChan(); open {
		t.Error("the watch goes on")
	}
}

// Controllers that start while the API server is slow become ready: informers that have synced do
// not keep time from passing for the others.
func TestControllersBeginThoughTheAPIServerIsSlow(t *testing.T) {
	t.Parallel()
	slow := read(t, "{apiserver: {action: latency, delay: 1s, spread: 2s, percent: 50}, for: 5m}")
	b := newBench(t, slow)
	b.web(2)
	wait := b.begin(t.Context(), slow)
	b.advance(0)
	b.run(read(t, "controllers: {action: crash, all: true}"))
	b.advance(time.Minute)
	b.run(read(t, "pods: {action: kill, all: true}"))
	b.advance(4 * time.Minute)
	b.wantReady(2)
	if err := wait(); err != nil {
		t.Fatal(err)
	}
}

// Controllers that begin while the API server fails whatever is asked, or is away, do not
// keep the fault from ever ending.
func TestControllersBeginThoughTheAPIServerFails(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{apiserver: {action: error}, for: 5m}", "{apiserver: {action: tooManyRequests}, for: 5m}", "{apiserver: {action: restart}, for: 1m}"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			failing := read(t, text)
			b := newBench(t, failing)
			b.web(2)
			wait := b.begin(t.Context(), failing)
			b.advance(time.Second)
			b.run(read(t, "controllers: {action: crash, all: true}"))
			b.advance(10 * time.Minute)
			if err := wait(); err != nil {
				t.Fatal(err)
			}
			b.run(read(t, "pods: {action: kill, all: true}"))
			b.advance(2 * time.Minute)
			b.wantReady(2)
		})
	}
}

func TestAPIIsDown(t *testing.T) {
	t.Parallel()
	f := read(t, "{apiserver: {action: restart}, for: 10s}")
	b := newBench(t, f)
	wait := b.begin(t.Context(), f)
	b.advance(time.Second)
	if _, err := b.create("a"); err == nil {
		t.Error("a server that is down answers")
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.create("a"); err != nil {
		t.Errorf("in the end: %v", err)
	}
}

func TestAPIStale(t *testing.T) {
	t.Parallel()
	f := read(t, "apiserver: {action: stale, resources: [configmaps]}")
	b := newBench(t, f)
	if _, err := b.create("before"); err != nil {
		t.Fatal(err)
	}
	b.run(f)
	if _, err := b.create("after"); err != nil {
		t.Fatal(err)
	}
	count := func(version string) int {
		list, err := b.other.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{ResourceVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	newest := count("")
	if behind := count("0"); behind != newest-1 {
		t.Errorf("the cache has %d, the store %d", behind, newest)
	}
	get := metav1.GetOptions{ResourceVersion: "0"}
	if _, err := b.other.CoreV1().ConfigMaps("default").Get(t.Context(), "after", get); !apierrors.IsNotFound(err) {
		t.Errorf("the cache has what is new: %v", err)
	}
	if _, err := b.other.CoreV1().ConfigMaps("default").Get(t.Context(), "before", get); err != nil {
		t.Errorf("the cache lacks what is old: %v", err)
	}
	b.over()
	if behind := count("0"); behind != newest {
		t.Errorf("in the end the cache has %d, the store %d", behind, newest)
	}
}

// History that was compacted cannot be watched any more.
func TestAPICompact(t *testing.T) {
	t.Parallel()
	f := read(t, "apiserver: {action: compact}")
	b := newBench(t, f)
	old, err := b.other.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if _, err := b.create(name); err != nil {
			t.Fatal(err)
		}
	}
	b.run(f)
	w, err := b.other.CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{ResourceVersion: old.ResourceVersion})
	if err == nil {
		defer w.Stop()
		event := <-w.ResultChan()
		err = apierrors.FromObject(event.Object)
	}
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		t.Errorf("a watch from the past: %v", err)
	}
}
