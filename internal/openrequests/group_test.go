package openrequests_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"minikcm.dev/minikcm/internal/openrequests"
)

func TestClose(t *testing.T) {
	t.Parallel()
	var g openrequests.Group
	ctx, end, ok := g.Begin(t.Context())
	if !ok {
		t.Fatal("a new Group refuses a request")
	}
	closed := make(chan struct{})
	go func() {
		g.Close()
		close(closed)
	}()
	<-ctx.Done()
	select {
	case <-closed:
		t.Error("Close returned before the request ended")
	default:
	}
	if _, _, ok := g.Begin(t.Context()); ok {
		t.Error("a closing Group accepts a request")
	}
	end()
	<-closed
	g.Close() // again has no effect
}

func TestServe(t *testing.T) {
	t.Parallel()
	closed, failed := errors.New("closed"), errors.New("failed")
	var g openrequests.Group
	serve := func(serve func(context.Context, http.ResponseWriter, *http.Request) error) (answered error) {
		g.Serve(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), closed, func(_ http.ResponseWriter, err error) { answered = err }, serve)
		return answered
	}
	if err := serve(func(context.Context, http.ResponseWriter, *http.Request) error { return nil }); err != nil {
		t.Errorf("a request that is served is answered with %v", err)
	}
	if err := serve(func(context.Context, http.ResponseWriter, *http.Request) error { return failed }); !errors.Is(err, failed) {
		t.Errorf("a request that fails is answered with %v", err)
	}
	g.Close()
	err := serve(func(context.Context, http.ResponseWriter, *http.Request) error {
		t.Error("a closed Group serves a request")
		return nil
	})
	if !errors.Is(err, closed) {
		t.Errorf("after the end, a request is answered with %v", err)
	}
}
