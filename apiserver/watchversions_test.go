package apiserver_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"minikcm.dev/minikcm/clock"
)

// The table of the API Concepts page for watches: the start of a stream for each
// combination of resourceVersion, resourceVersionMatch, sendInitialEvents and
// allowWatchBookmarks. "!" is the bookmark that ends the state.
func TestWatchResourceVersions(t *testing.T) {
	h := start(t)
	maps := h.client().CoreV1().ConfigMaps("default")
	must(maps.List(h.ctx, metav1.ListOptions{}))(t) // from here on, the cache has history
	old := fill(t, h, 1)
	must(maps.Create(h.ctx, configMap("n"), metav1.CreateOptions{}))(t)
	yes, no := true, false
	const state, since, marked, nothing = "m00 n", "n", "m00 n !", ""
	for i, c := range []struct {
		rv, match string
		initial   *bool
		bookmarks bool
		want      string // the names before a new object, or the reason of an error
	}{
		{"", "", nil, false, state},
		{"", "", nil, true, marked},
		{"0", "", nil, false, state},
		{"0", "", nil, true, marked},
		{old, "", nil, false, since},
		{old, "", nil, true, since},
		{"", "NotOlderThan", &yes, false, state},
		{"", "NotOlderThan", &yes, true, marked},
		{"0", "NotOlderThan", &yes, false, state},
		{"0", "NotOlderThan", &yes, true, marked},
		{old, "NotOlderThan", &yes, false, state},
		{old, "NotOlderThan", &yes, true, marked},
		{"", "NotOlderThan", &no, true, nothing},
		{"0", "NotOlderThan", &no, true, nothing},
		{old, "NotOlderThan", &no, true, since},
		{"", "NotOlderThan", nil, false, "Invalid"},
		{old, "NotOlderThan", nil, false, "Invalid"},
		{old, "Exact", nil, false, "Invalid"},
		{old, "Exact", &yes, false, "Invalid"},
		{"", "", &yes, true, "Invalid"},
		{"0", "", &no, false, "Invalid"},
		{"x", "", nil, false, "Unknown"},
	} {
		w, err := maps.Watch(h.ctx, metav1.ListOptions{
			ResourceVersion: c.rv, ResourceVersionMatch: metav1.ResourceVersionMatch(c.match), SendInitialEvents: c.initial, AllowWatchBookmarks: c.bookmarks,
		})
		if err != nil {
			reason := string(apierrors.ReasonForError(err))
			if reason == "" {
				reason = "Unknown"
			}
			if reason != c.want {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		end := fmt.Sprintf("z%02d", i)
		must(maps.Create(h.ctx, configMap(end), metav1.CreateOptions{}))(t)
		if got := h.upTo(t, w, end); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
		w.Stop()
		if err := maps.Delete(h.ctx, end, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// upTo returns the events that a watch delivers before it adds the object end, without the
// objects of other cases.
func (h *harness) upTo(t *testing.T, w watch.Interface, end string) string {
	t.Helper()
	var seen []string
	for {
		select {
		case event := <-w.ResultChan():
			cm, ok := event.Object.(*corev1.ConfigMap)
			switch {
			case !ok:
				t.Fatalf("event: %+v", event)
			case cm.Name == end:
				return strings.Join(seen, " ")
			case event.Type == watch.Bookmark && cm.Annotations[metav1.InitialEventsAnnotationKey] == "true":
				seen = append(seen, "!")
			case event.Type == watch.Added && !strings.HasPrefix(cm.Name, "z"):
				seen = append(seen, cm.Name)
			}
		case <-h.ctx.Done():
			t.Fatalf("%q does not come, but %q", end, seen)
		}
	}
}

// A request waits three seconds of cluster time for a version that does not exist yet.
func TestFutureVersions(t *testing.T) {
	h, virtual := startVirtual(t)
	fill(t, h, 1)
	for _, path := range []string{
		"/api/v1/configmaps?resourceVersion=100000",
		"/api/v1/configmaps?resourceVersion=100000&limit=1",
		"/api/v1/configmaps?resourceVersion=100000&resourceVersionMatch=NotOlderThan",
		"/api/v1/configmaps?resourceVersion=100000&resourceVersionMatch=Exact",
		"/api/v1/namespaces/default/configmaps/m00?resourceVersion=100000",
	} {
		begun := virtual.Now()
		answer := make(chan *reply, 1)
		go func() { answer <- h.send("GET", path, "") }()
		h.advanceUntil(virtual, time.Second, func() bool { return len(answer) > 0 })
		r := <-answer
		s := wantReply(t, r, 504, metav1.StatusReasonTimeout, "Too large resource version: 100000, current: ")
		if len(s.Details.Causes) != 1 || s.Details.Causes[0].Type != metav1.CauseTypeResourceVersionTooLarge ||
			s.Details.Causes[0].Message != "Too large resource version" || r.header.Get("Retry-After") != "1" {
			t.Errorf("%s: %+v %v", path, s.Details, r.header)
		}
		if waited := virtual.Now().Sub(begun); waited < 3*time.Second {
			t.Errorf("%s: answered after %s", path, waited)
		}
	}
	h.idle()
}

// advanceUntil advances the cluster's time in steps until a condition holds.
func (h *harness) advanceUntil(v *clock.Virtual, step time.Duration, done func() bool) {
	h.t.Helper()
	for !done() {
		h.advance(v, step)
	}
}

// A request that waits for a version gets it as soon as it exists.
func TestVersionThatComes(t *testing.T) {
	h, _ := startVirtual(t)
	last, err := strconv.Atoi(fill(t, h, 1))
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan *reply, 1)
	go func() { answer <- h.send("GET", fmt.Sprintf("/api/v1/configmaps?resourceVersion=%d", last+2), "") }()
	maps := h.client().CoreV1().ConfigMaps("default")
	for i := range 2 {
		must(maps.Create(h.ctx, configMap("n"+strconv.Itoa(i)), metav1.CreateOptions{}))(t)
	}
	var list corev1.ConfigMapList
	(<-answer).into(t, &list)
	if names(&list) != "m00 n0 n1" {
		t.Errorf("the list: %q", names(&list))
	}
}

// A watch from a version that does not exist yet delivers the events after it.
func TestWatchFromTheFuture(t *testing.T) {
	h := start(t)
	last, err := strconv.Atoi(fill(t, h, 1))
	if err != nil {
		t.Fatal(err)
	}
	maps := h.client().CoreV1().ConfigMaps("default")
	w := must(maps.Watch(h.ctx, metav1.ListOptions{ResourceVersion: strconv.Itoa(last + 2)}))(t)
	defer w.Stop()
	for i := range 3 {
		must(maps.Create(h.ctx, configMap("n"+strconv.Itoa(i)), metav1.CreateOptions{}))(t)
	}
	h.want(t, w, watch.Added, "n2")
}

// A state that is not available is reported in the stream.
func TestWatchStateFromTheFuture(t *testing.T) {
	h, virtual := startVirtual(t)
	answer := make(chan *reply, 1)
	go func() {
		answer <- h.send("GET", "/api/v1/configmaps?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=100000", "")
	}()
	h.advanceUntil(virtual, time.Second, func() bool { return len(answer) > 0 })
	r := <-answer
	if text := string(r.body); r.code != 200 || !strings.HasPrefix(text, `{"type":"ERROR","object":{"kind":"Status"`) || !strings.Contains(text, "Too large resource version: 100000") {
		t.Errorf("%d %s", r.code, text)
	}
}
