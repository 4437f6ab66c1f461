package faultapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/golden"
	"minikcm.dev/minikcm/minikcmtest"
)

// An invalid fault is refused with a Status that has a cause for each invalid field.
func TestRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.inject("nodes: {action: hang, names: [node-0]}")
	var out strings.Builder
	for _, r := range []struct{ method, path, body string }{
		{http.MethodPost, Path, "nodes: {action: explode, names: [a], colour: red}\nfor: soon"},
		{http.MethodPost, Path, `{"nodes": {"action": "slow"}, "pods": {"action": "kill"}}`},
		{http.MethodPost, Path, `{"nodes": {"action": "slow"}, "for": "-1s"}`},
		{http.MethodPost, Path, "nodes: {action: crash"},
		{http.MethodPost, Path, ""},
		{http.MethodPost, Path, "nodes: {action: hang}\n---\nnodes: {action: hang}\n"},
		{http.MethodPost, Path, strings.Repeat("[", 2000)},
		{http.MethodPost, Path, strings.Repeat("#", maxBody) + "\nnodes: {action: hang}"},
		{http.MethodPost, Path + "?seed=-1", "nodes: {action: hang}"},
		{http.MethodPost, Path + "?follow=perhaps", "nodes: {action: hang}"},
		{http.MethodPut, Path, "nodes: {action: hang}"},
		{http.MethodDelete, Path, ""},
		{http.MethodPost, Path + "/f-1", ""},
		{http.MethodGet, Path + "/f-2", ""},
		{http.MethodGet, Path + "/f-1/notes", ""},
		{http.MethodGet, Path + "/f-1?follow=no", ""},
		{http.MethodDelete, Path + "/f-2", ""},
	} {
		code, header, answer := send(t, b.Config(), r.method, r.path, r.body)
		if code < 400 {
			t.Errorf("%s %s is answered with %d", r.method, r.path, code)
		}
		var status bytes.Buffer
		if err := json.Indent(&status, []byte(answer), "  ", "  "); err != nil {
			t.Errorf("%s %s is answered with %q: %v", r.method, r.path, answer, err)
		}
		fmt.Fprintf(&out, "%s %s %.60q\n  %d %s\n  %s\n", r.method, r.path, r.body, code, header.Get("Allow"), strings.TrimSpace(status.String()))
	}
	golden.Compare(t, "testdata/refusals.golden", out.String())
}

// A fault of a clock that cannot be set is refused at once, with advice.
func TestClockOfTheMachineIsNotSet(t *testing.T) {
	t.Parallel()
	b := newBench(t, minikcmtest.WithOptions(func(o *minikcm.Options) { o.Clock.Mode = clock.ModeReal }))
	code, _, answer := send(t, b.Config(), http.MethodPost, Path, "clock: {action: jump, by: 1h}")
	if code != http.StatusBadRequest || !strings.Contains(answer, "only a virtual clock can be set") {
		t.Errorf("it is answered with %d %s", code, answer)
	}
}

// Only the group system:masters may inject faults, or list them.
func TestOnlyMasters(t *testing.T) {
	t.Parallel()
	b := newBench(t, minikcmtest.WithHTTPS())
	https, err := b.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	jane := rest.CopyConfig(https)
	jane.Impersonate = rest.ImpersonationConfig{UserName: "jane", Groups: []string{"developers"}}
	anonymous := rest.AnonymousClientConfig(https)
	for name, config := range map[string]*rest.Config{"jane": jane, "in memory": b.ConfigFor("jane", "developers"), "anonymous": anonymous} {
		for _, r := range []struct{ method, path string }{{http.MethodPost, Path}, {http.MethodGet, Path}, {http.MethodGet, Path + "/f-1"}, {http.MethodDelete, Path + "/f-1"}} {
			code, _, answer := send(t, config, r.method, r.path, "nodes: {action: hang}")
			if code != http.StatusForbidden || !strings.Contains(answer, `"reason":"Forbidden"`) {
				t.Errorf("%s: %s %s is answered with %d %s", name, r.method, r.path, code, answer)
			}
		}
	}
	if code, _, answer := send(t, https, http.MethodPost, Path, "{nodes: {action: hang}, for: 1s}"); code != http.StatusCreated {
		t.Errorf("the administrator is answered with %d %s", code, answer)
	}
}

// The faults can be reached, and stopped, while all that belongs to Kubernetes fails.
func TestServedWhileTheAPIServerIsDown(t *testing.T) {
	t.Parallel()
	b := newBench(t, minikcmtest.WithHTTPS())
	https, err := b.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := NewClient(https)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{apiserver: {action: restart}, for: 1h}", "apiserver: {action: error}", "{etcd: {action: unavailable}}"} {
		b.want(b.inject(text), Active)
	}
	list, err := client.List(t.Context())
	if err != nil || len(list.Items) != 3 {
		t.Fatalf("%+v: %v", list, err)
	}
	if info, err := client.Info(t.Context()); err != nil || !info.Has(Feature) {
		t.Errorf("the cluster says that it is %+v: %v", info, err)
	}
	for i := range list.Items {
		if injection, err := client.Stop(t.Context(), list.Items[i].ID); err != nil || injection.State != Stopped {
			t.Errorf("%+v: %v", injection, err)
		}
	}
	if code, _, answer := send(t, https, http.MethodGet, "/api/v1/namespaces/default", ""); code != http.StatusOK {
		t.Errorf("in the end the API server answers %d %s", code, answer)
	}
}

// A stream has a line for the state now and for each change, and ends with the fault.
func TestStream(t *testing.T) {
	t.Parallel()
	b := newBench(t, minikcmtest.WithHTTPS())
	https, err := b.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(https)
	if err != nil {
		t.Fatal(err)
	}
	id := b.inject("{nodes: {action: cordon, names: [node-0]}}")
	b.want(id, Active)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, https.Host+Path+"/"+id+"?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // it is only read
	var states []State
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		var injection Injection
		if err := json.Unmarshal(lines.Bytes(), &injection); err != nil {
			t.Fatal(err)
		}
		if len(states) == 0 {
			if _, err := b.client.Stop(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		states = append(states, injection.State)
	}
	if len(states) < 2 || states[0] != Active || states[len(states)-1] != Stopped {
		t.Errorf("the states are %v", states)
	}
}

// The errors of a cluster without the API, and of one that is none of minikcm's, differ.
func TestForeignClusters(t *testing.T) {
	t.Parallel()
	own := minikcmtest.New(t, minikcmtest.WithNodes(0))
	client, err := NewClient(own.Config())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.List(t.Context()); err == nil || !strings.Contains(err.Error(), "has no API for faults") {
		t.Errorf("a cluster without faults: %v", err)
	}
	if _, err := client.Inject(t.Context(), parse(t, "nodes: {action: hang}")); err == nil || !strings.Contains(err.Error(), "has no API for faults") {
		t.Errorf("a cluster without faults: %v", err)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	if client, err = NewClient(&rest.Config{Host: server.URL}); err != nil {
		t.Fatal(err)
	}
	for _, do := range []func() error{
		func() error { _, err := client.List(t.Context()); return err },
		func() error { _, err := client.Follow(t.Context(), "f-1", nil); return err },
		func() error { _, err := client.Info(t.Context()); return err },
	} {
		var foreign *ForeignError
		if err := do(); !errors.As(err, &foreign) || foreign.Info != nil {
			t.Errorf("a cluster that is none of minikcm's: %v", err)
		}
	}
}

// A followed list has a line now and after changes, and ends when the cluster closes.
func TestFollowList(t *testing.T) {
	t.Parallel()
	b := newBench(t, minikcmtest.WithHTTPS())
	https, err := b.HTTPSConfig()
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(https)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, https.Host+Path+"?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() // it is only read
	lines := bufio.NewScanner(resp.Body)
	next := func(wanted func(List) bool) {
		t.Helper()
		for lines.Scan() {
			var list List
			if err := json.Unmarshal(lines.Bytes(), &list); err != nil {
				t.Fatal(err)
			}
			if wanted(list) {
				return
			}
		}
		t.Fatalf("the stream ends: %v", lines.Err())
	}
	state := func(of State) func(List) bool {
		return func(l List) bool { return len(l.Items) == 1 && l.Items[0].State == of }
	}
	next(func(l List) bool { return len(l.Items) == 0 })
	id := b.inject("{nodes: {action: hang, names: [node-0]}}")
	next(state(Active))
	if _, err := b.client.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	next(state(Stopped))
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // to its end
	}
}
