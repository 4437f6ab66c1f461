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

// fingerprints detect whether discovery has changed without reading it, by the ETags of the
// aggregated documents (KEP-3352). A server that caches the documents answers such requests
// without work.
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

// same reports whether both documents are unchanged since the last call. It always returns
// false for a server without ETags.
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
	defer resp.Body.Close() // after the body is read to its end
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return false, fmt.Errorf("reading %s: %w", path, err)
	}
	if resp.StatusCode == http.StatusNotModified {
		return true, nil
	}
	f.tags[path] = resp.Header.Get("ETag")
	return false, nil
}

// forget makes the next call of same return false.
func (f *fingerprints) forget() { clear(f.tags) }
