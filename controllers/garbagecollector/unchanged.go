package garbagecollector

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// fingerprints tell whether discovery says anything new without reading it: by the tags
// of its aggregated documents (KEP-3352), which cost a server that keeps them nothing.
type fingerprints struct {
	client *http.Client
	base   string
	tags   map[string]string
}

func newFingerprints(config *rest.Config) (*fingerprints, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making a client of discovery: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("finding the server of discovery: %w", err)
	}
	return &fingerprints{client: client, base: strings.TrimSuffix(base.String(), "/"), tags: map[string]string{}}, nil
}

// same reports whether both documents are as they were when it was last called. A
// server without tags always has something new.
func (f *fingerprints) same(ctx context.Context) (bool, error) {
	unchanged := true
	for _, path := range []string{"/api", "/apis"} {
		same, err := f.sameAt(ctx, path)
		if err != nil {
			return false, err
		}
		unchanged = unchanged && same
	}
	return unchanged, nil
}

func (f *fingerprints) sameAt(ctx context.Context, path string) (bool, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+path, nil)
	if err != nil {
		return false, fmt.Errorf("asking for %s: %w", path, err)
	}
	req.Header.Set("Accept", discovery.AcceptV2)
	if tag := f.tags[path]; tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return false, fmt.Errorf("asking for %s: %w", path, err)
	}
	defer resp.Body.Close() // read to its end
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return false, fmt.Errorf("reading %s: %w", path, err)
	}
	if resp.StatusCode == http.StatusNotModified {
		return true, nil
	}
	f.tags[path] = resp.Header.Get("ETag")
	return false, nil
}

// forget makes everything new again.
func (f *fingerprints) forget() { clear(f.tags) }
