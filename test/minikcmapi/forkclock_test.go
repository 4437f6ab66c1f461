package minikcmapi

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/internal/clockapi"
	"minikcm.dev/minikcm/internal/forkapi"
)

// The clock of a fork is controlled beneath the fork's path, and is none of the cluster's.
func TestForkClock(t *testing.T) {
	t.Parallel()
	cluster := startForks(t)
	var fork forkapi.Fork
	if code := sendFork(t, cluster.Config(), http.MethodPost, forkapi.Path, "", &fork); code != http.StatusCreated {
		t.Fatalf("a fork is answered with %d: %+v", code, fork)
	}
	path := forkapi.Path + "/" + fork.ID + "/clock"
	post := func(verb, body string) (state clockapi.State) {
		t.Helper()
		if code := sendFork(t, cluster.Config(), http.MethodPost, path+"/"+verb, body, &state); code != http.StatusOK {
			t.Fatalf("%s is answered with %d", verb, code)
		}
		return state
	}
	here := cluster.Clock().Now()
	paused := post("pause", "")
	if !paused.Paused || paused.Mode != "virtual" || paused.Now.Before(fork.Time) {
		t.Errorf("the paused clock is %+v", paused)
	}
	if later := post("advance", `{"duration": "24h"}`); !later.Now.Equal(paused.Now.Add(24*time.Hour)) || !later.Paused {
		t.Errorf("a day after %v it is %+v", paused.Now, later)
	}
	next := post("advance", `{"duration": "0s"}`).NextTimer
	if stepped := post("step", ""); next == nil || !stepped.Now.Equal(*next) {
		t.Errorf("a step to %v leads to %v", next, stepped.Now)
	}
	if state := post("speed", `{"speed": 2.5}`); state.Factor != 2.5 || !state.Paused {
		t.Errorf("the clock with a speed is %+v", state)
	}
	if now := cluster.Clock().Now(); !now.Equal(here) {
		t.Errorf("the clock of the cluster has moved from %v to %v", here, now)
	}
	var compared forkapi.Comparison
	if sendFork(t, cluster.Config(), http.MethodGet, forkapi.Path+"/"+fork.ID+"/comparison", "", &compared); !compared.There.Clock.Paused || compared.There.Clock.Factor != 2.5 {
		t.Errorf("the comparison has the clock %+v", compared.There.Clock)
	}
	if state := post("resume", ""); state.Paused {
		t.Errorf("the resumed clock is %+v", state)
	}
	refuseForkClock(t, cluster.Config(), path)

	// A stream of its states ends with the fork.
	client, err := rest.HTTPClientFor(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, cluster.Config().Host+path+"?follow=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() // it is only read
	states := bufio.NewScanner(res.Body)
	if !states.Scan() || !strings.Contains(states.Text(), `"mode":"virtual"`) {
		t.Errorf("the stream begins with %s", states.Text())
	}
	if code := sendFork(t, cluster.Config(), http.MethodDelete, forkapi.Path+"/"+fork.ID, "", nil); code != http.StatusOK {
		t.Errorf("ending the fork is answered with %d", code)
	}
	for states.Scan() { // until the stream ends
	}
	if code := sendFork(t, cluster.Config(), http.MethodGet, path, "", nil); code != http.StatusNotFound {
		t.Errorf("the clock of no fork is answered with %d", code)
	}
}

// refuseForkClock sends what is no request for a fork's clock.
func refuseForkClock(t *testing.T, config *rest.Config, path string) {
	t.Helper()
	for _, r := range []struct {
		method, path, body string
		code               int
		reason             metav1.StatusReason
		want               string
	}{
		{http.MethodPost, "/speed", `{"speed": 0}`, 422, metav1.StatusReasonInvalid, "speed"},
		{http.MethodPost, "/speed", "", 422, metav1.StatusReasonInvalid, "speed: Required value"},
		{http.MethodPost, "/speed", `{"speed": "fast"}`, 400, metav1.StatusReasonBadRequest, "not what is expected"},
		{http.MethodPost, "/speed", `{"factor": 2}`, 400, metav1.StatusReasonBadRequest, `unknown field "factor"`},
		{http.MethodPost, "/advance", `{"duration": "-1s"}`, 422, metav1.StatusReasonInvalid, "must not be negative"},
		{http.MethodPost, "/advance", `{"duration": "tomorrow"}`, 422, metav1.StatusReasonInvalid, "must be a duration"},
		{http.MethodPost, "/advance", strings.Repeat(" ", 5000), 413, metav1.StatusReasonRequestEntityTooLarge, "4096 bytes"},
		{http.MethodPost, "/pause?for=1h", "", 400, metav1.StatusReasonBadRequest, `unknown parameter "for"`},
		{http.MethodPost, "/stop", "", 404, metav1.StatusReasonNotFound, "stop"},
		{http.MethodPost, "/pause/now", "", 404, metav1.StatusReasonNotFound, "pause/now"},
		{http.MethodPost, "", "", 405, metav1.StatusReasonMethodNotAllowed, ""},
		{http.MethodGet, "/pause", "", 405, metav1.StatusReasonMethodNotAllowed, ""},
		{http.MethodGet, "?follow=maybe", "", 400, metav1.StatusReasonBadRequest, "neither true nor false"},
		{http.MethodGet, "?watch=true", "", 400, metav1.StatusReasonBadRequest, `unknown parameter "watch"`},
	} {
		var status metav1.Status
		code := sendFork(t, config, r.method, path+r.path, r.body, &status)
		if code != r.code || int(status.Code) != r.code || status.Reason != r.reason || !strings.Contains(status.Message, r.want) {
			t.Errorf("%s %s %.30q is answered with %d %s: %s", r.method, r.path, r.body, code, status.Reason, status.Message)
		}
	}
}
