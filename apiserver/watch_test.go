package apiserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// next waits for a watch's next event.
func (h *harness) next(t testing.TB, w watch.Interface) watch.Event {
	t.Helper()
	select {
	case event, ok := <-w.ResultChan():
		if !ok {
			t.Fatal("the watch has ended")
		}
		return event
	case <-h.ctx.Done():
		t.Fatal("no event came")
	}
	panic("not reached")
}

// want waits for an event and fails the test unless it has that type and an object of
// that name.
func (h *harness) want(t testing.TB, w watch.Interface, eventType watch.EventType, name string) *corev1.ConfigMap {
	t.Helper()
	event := h.next(t, w)
	cm, ok := event.Object.(*corev1.ConfigMap)
	if event.Type != eventType || !ok || cm.Name != name {
		t.Fatalf("want %s of %q, got %s of %+v", eventType, name, event.Type, event.Object)
	}
	return cm
}

// ended waits until a watch has ended.
func (h *harness) ended(t testing.TB, w watch.Interface) {
	t.Helper()
	for {
		select {
		case event, ok := <-w.ResultChan():
			if !ok {
				return
			}
			if event.Type == watch.Error {
				t.Fatalf("the watch ends with an error: %v", event.Object)
			}
		case <-h.ctx.Done():
			t.Fatal("the watch does not end")
		}
	}
}

func TestWatchEvents(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		maps := h.client(cfg).CoreV1().ConfigMaps("default")
		list := must(maps.List(h.ctx, metav1.ListOptions{}))(t)
		w := must(maps.Watch(h.ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion}))(t)
		made := must(maps.Create(h.ctx, configMap("a", "k", "1"), metav1.CreateOptions{}))(t)
		if seen := h.want(t, w, watch.Added, "a"); seen.ResourceVersion != made.ResourceVersion || seen.UID != made.UID {
			t.Fatalf("added: %+v", seen)
		}
		made.Data["k"] = "2"
		changed := must(maps.Update(h.ctx, made, metav1.UpdateOptions{}))(t)
		if seen := h.want(t, w, watch.Modified, "a"); seen.Data["k"] != "2" || seen.ResourceVersion != changed.ResourceVersion {
			t.Fatalf("modified: %+v", seen)
		}
		if err := maps.Delete(h.ctx, "a", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		gone := h.want(t, w, watch.Deleted, "a")
		if gone.Data["k"] != "2" || newer(t, changed.ResourceVersion, gone.ResourceVersion) {
			t.Fatalf("deleted: %+v", gone)
		}
		again := must(maps.Watch(h.ctx, metav1.ListOptions{ResourceVersion: changed.ResourceVersion}))(t)
		h.want(t, again, watch.Deleted, "a")
		again.Stop()
		w.Stop()
		h.idle()
	})
}

// newer reports whether revision a is not before b.
func newer(t testing.TB, a, b string) bool {
	t.Helper()
	return must(strconv.Atoi(a))(t) >= must(strconv.Atoi(b))(t)
}

// Without a version, and with "0", a watch starts with the state.
func TestWatchBeginsWithState(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		fill(t, h, 2)
		maps := h.client(cfg).CoreV1().ConfigMaps("default")
		for _, version := range []string{"", "0"} {
			w := must(maps.Watch(h.ctx, metav1.ListOptions{ResourceVersion: version}))(t)
			h.want(t, w, watch.Added, "m00")
			h.want(t, w, watch.Added, "m01")
			w.Stop()
		}
		one := must(maps.Watch(h.ctx, metav1.ListOptions{FieldSelector: "metadata.name=m01"}))(t)
		h.want(t, one, watch.Added, "m01")
		one.Stop()
		h.idle()
	})
}

// A streaming list: the state, the bookmark that ends it, then changes.
func TestWatchSendsInitialEvents(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		last := fill(t, h, 2)
		maps := h.client(cfg).CoreV1().ConfigMaps("default")
		yes, no := true, false
		for _, version := range []string{"", "0", last} {
			w := must(maps.Watch(h.ctx, metav1.ListOptions{
				SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
			}))(t)
			h.want(t, w, watch.Added, "m00")
			h.want(t, w, watch.Added, "m01")
			mark := h.want(t, w, watch.Bookmark, "")
			if mark.Annotations[metav1.InitialEventsAnnotationKey] != "true" || !newer(t, mark.ResourceVersion, last) {
				t.Fatalf("the closing bookmark: %+v", mark)
			}
			w.Stop()
		}
		w := must(maps.Watch(h.ctx, metav1.ListOptions{SendInitialEvents: &no, ResourceVersion: last, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}))(t)
		must(maps.Create(h.ctx, configMap("n"), metav1.CreateOptions{}))(t)
		h.want(t, w, watch.Added, "n")
		w.Stop()
		_, err := maps.Watch(h.ctx, metav1.ListOptions{SendInitialEvents: &yes, AllowWatchBookmarks: true})
		wantStatus(t, err, 422, metav1.StatusReasonInvalid, "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
	})
}

// Objects start and stop matching a selector.
func TestWatchSelectorTransitions(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		maps := h.client(cfg).CoreV1().ConfigMaps("default")
		w := must(maps.Watch(h.ctx, metav1.ListOptions{LabelSelector: "in=yes"}))(t)
		defer w.Stop()
		label := func(cm *corev1.ConfigMap, value string) *corev1.ConfigMap {
			cm.Labels = map[string]string{"in": value}
			return must(maps.Update(h.ctx, cm, metav1.UpdateOptions{}))(t)
		}
		cm := must(maps.Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
		cm = label(cm, "yes")
		h.want(t, w, watch.Added, "a")
		cm.Data = map[string]string{"k": "v"}
		cm = label(cm, "yes")
		h.want(t, w, watch.Modified, "a")
		cm = label(cm, "no")
		if gone := h.want(t, w, watch.Deleted, "a"); gone.Labels["in"] != "yes" || gone.ResourceVersion != cm.ResourceVersion {
			t.Fatalf("the object that left: %+v, at %s", gone, cm.ResourceVersion)
		}
		cm = label(cm, "yes")
		h.want(t, w, watch.Added, "a")
		if err := maps.Delete(h.ctx, cm.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		h.want(t, w, watch.Deleted, "a")
	})
}

func TestWatchVersionsThatAreNot(t *testing.T) {
	h := start(t)
	old := fill(t, h, 1)
	for i := range 3 {
		must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("n"+strconv.Itoa(i)), metav1.CreateOptions{}))(t)
	}
	h.compact()
	maps := h.client().CoreV1().ConfigMaps("default")
	if old == "" {
		t.Fatal("no version")
	}
	w := must(maps.Watch(h.ctx, metav1.ListOptions{ResourceVersion: "2"}))(t)
	defer w.Stop()
	event := <-w.ResultChan()
	wantStatus(t, apierrors.FromObject(event.Object), 410, metav1.StatusReasonExpired, "too old resource version: 2 (")
	h.ended(t, w)
	_, err := maps.Watch(h.ctx, metav1.ListOptions{ResourceVersion: "x"})
	wantStatus(t, err, 500, metav1.StatusReasonUnknown, `resourceVersion: Invalid value: "x"`)
}

// A client can limit a watch's duration, in cluster time.
func TestWatchTimeout(t *testing.T) {
	for _, w := range []wire{inMemory(), overHTTPS(), overHTTP1()} {
		t.Run(w.name, func(t *testing.T) {
			h, virtual := startVirtual(t)
			maps := h.client(w.config(h)).CoreV1().ConfigMaps("default")
			seconds := int64(600)
			watcher := must(maps.Watch(h.ctx, metav1.ListOptions{TimeoutSeconds: &seconds}))(t)
			h.advance(virtual, 599*time.Second)
			must(maps.Create(h.ctx, configMap("a"), metav1.CreateOptions{}))(t)
			h.want(t, watcher, watch.Added, "a")
			h.advance(virtual, time.Second)
			h.ended(t, watcher)
		})
	}
}

// Bookmarks follow the cluster's clock, and include revisions of other resources.
func TestWatchBookmarks(t *testing.T) {
	h, virtual := startVirtual(t)
	client := h.client()
	watcher := must(client.CoreV1().ConfigMaps("default").Watch(h.ctx, metav1.ListOptions{AllowWatchBookmarks: true}))(t)
	defer watcher.Stop()
	secret := must(client.CoreV1().Secrets("default").Create(h.ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{}))(t)
	advanced := make(chan error, 1)
	// Time stands still until the client has read the bookmark.
	go func() { advanced <- virtual.Advance(h.ctx, 2*time.Minute) }()
	if end := h.want(t, watcher, watch.Bookmark, ""); end.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Errorf("the end of the state: %+v", end)
	}
	mark := h.want(t, watcher, watch.Bookmark, "")
	if err := <-advanced; err != nil {
		t.Fatal(err)
	}
	if !newer(t, mark.ResourceVersion, secret.ResourceVersion) || len(mark.Annotations) != 0 {
		t.Errorf("bookmark: %+v", mark)
	}
}

// The response is chunked JSON, one event a line.
func TestWatchFrames(t *testing.T) {
	wires(t, func(t *testing.T, h *harness, cfg *rest.Config) {
		ctx, cancel := context.WithCancel(h.ctx)
		defer cancel()
		resp := h.open(ctx, cfg, "GET", "/api/v1/namespaces/default/configmaps?watch=1", "", "Accept", "application/json")
		defer resp.Body.Close() // ended by its context
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "application/json" || resp.ContentLength != -1 {
			t.Fatalf("%d %v", resp.StatusCode, resp.Header)
		}
		if resp.ProtoMajor == 1 && resp.TLS != nil && (len(resp.TransferEncoding) != 1 || resp.TransferEncoding[0] != "chunked") {
			t.Fatalf("transfer encoding: %v", resp.TransferEncoding)
		}
		lines := bufio.NewScanner(resp.Body)
		for i := range 3 {
			name := fmt.Sprintf("a%d", i)
			must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap(name), metav1.CreateOptions{}))(t)
			if !lines.Scan() {
				t.Fatal(lines.Err())
			}
			var event struct {
				Type   string
				Object corev1.ConfigMap
			}
			if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
				t.Fatal(err)
			}
			if event.Type != "ADDED" || event.Object.Name != name || event.Object.Kind != "ConfigMap" || event.Object.APIVersion != "v1" {
				t.Fatalf("event: %s", lines.Bytes())
			}
		}
	})
}

// A watch as Table has the columns in its first event only.
func TestWatchTable(t *testing.T) {
	h := start(t)
	fill(t, h, 2)
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	resp := h.open(ctx, inMemory().config(h), "GET", "/api/v1/namespaces/default/configmaps?watch=1", "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	defer resp.Body.Close() // ended by its context
	lines := bufio.NewScanner(resp.Body)
	for i := range 2 {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		var event struct {
			Type   string
			Object metav1.Table
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		if event.Object.Kind != "Table" || len(event.Object.Rows) != 1 || (len(event.Object.ColumnDefinitions) > 0) != (i == 0) {
			t.Fatalf("event %d: %s", i, lines.Bytes())
		}
	}
}

// The deprecated paths beneath /watch/ are watches too.
func TestWatchPaths(t *testing.T) {
	h := start(t)
	fill(t, h, 2)
	for path, want := range map[string]int{
		"/api/v1/watch/configmaps": 2, "/api/v1/watch/namespaces/default/configmaps": 2, "/api/v1/watch/namespaces/default/configmaps/m01": 1,
		"/api/v1/configmaps?watch=true": 2, "/api/v1/configmaps?watch": 2,
	} {
		ctx, cancel := context.WithCancel(h.ctx)
		resp := h.open(ctx, inMemory().config(h), "GET", path, "")
		if resp.StatusCode != 200 {
			data, _ := io.ReadAll(resp.Body)
			t.Errorf("%s: %d %s", path, resp.StatusCode, data)
			cancel()
			continue
		}
		lines := bufio.NewScanner(resp.Body)
		for range want {
			if !lines.Scan() || !strings.Contains(lines.Text(), `"ADDED"`) {
				t.Errorf("%s: %q %v", path, lines.Text(), lines.Err())
			}
		}
		must(h.client().CoreV1().ConfigMaps("default").Create(h.ctx, configMap("zz"), metav1.CreateOptions{}))(t)
		if want == 2 && (!lines.Scan() || !strings.Contains(lines.Text(), `"zz"`)) {
			t.Errorf("%s: %q", path, lines.Text())
		}
		if err := h.client().CoreV1().ConfigMaps("default").Delete(h.ctx, "zz", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		cancel()
		_ = resp.Body.Close()
	}
	var one corev1.ConfigMap
	if h.mustSend("GET", mapsPath+"/m00?watch=true", "").into(t, &one); one.Name != "m00" {
		t.Errorf("an object by name is not watched: %+v", one)
	}
}

// TestWatchFromBeforeTheCache checks that a watch may begin at a revision from before the first list of
// its kind, by which the watch cache has started.
func TestWatchFromBeforeTheCache(t *testing.T) {
	h := start(t)
	const path = "/apis/batch/v1/namespaces/default/cronjobs"
	created := h.mustSend("POST", path, `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"early"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"a","image":"i"}]}}}}}}`)
	var early metav1.PartialObjectMetadata
	if err := json.Unmarshal(created.body, &early); err != nil {
		t.Fatal(err)
	}
	h.mustSend("PATCH", path+"/early", `{"metadata":{"labels":{"a":"b"}}}`, "Content-Type", "application/merge-patch+json")
	h.mustSend("GET", path, "")
	got := string(h.mustSend("GET", path+"?watch=1&timeoutSeconds=1&resourceVersion="+early.ResourceVersion, "").body)
	if !strings.HasPrefix(got, `{"type":"MODIFIED"`) {
		t.Errorf("a watch from the creation on has the events %s", got)
	}
}
