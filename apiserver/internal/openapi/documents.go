package openapi

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/handler3"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

const (
	pathV2 = "/openapi/v2"
	pathV3 = "/openapi/v3"
)

// Documents serves the OpenAPI documents of one table. Each is built at the first
// request that needs it, and cached. It is an http.Handler for all paths beneath
// /openapi/, and safe for concurrent use.
type Documents struct {
	source source
	v2     *document
	// v3 holds the documents by path: one for each group and version, such as "apis/apps/v1", and the
	// documents of paths that belong to none.
	v3 map[string]*document
	// index returns the list of the documents in v3, with the hash of each.
	index func() ([]byte, error)
}

// New returns the documents of a table. version is the version of the API in the
// documents, such as "v1.37.2". Nothing is built before the first request.
func New(table *resources.Table, version string) *Documents {
	d := &Documents{
		source: source{table: table, scheme: scheme.Scheme, version: version},
		v3:     map[string]*document{},
	}
	d.v2 = newDocument(func() (any, error) { return d.source.v2() }, protobufV2).compressed()
	for path, rs := range d.source.general() {
		d.v3[path] = newDocument(func() (any, error) { return d.source.documentOf(rs) }, protobufV3)
	}
	for _, gv := range d.source.versions() {
		d.v3[strings.TrimPrefix(basePath(gv), "/")] = newDocument(func() (any, error) { return d.source.v3(gv) }, protobufV3)
	}
	d.index = sync.OnceValues(d.makeIndex)
	return d
}

// With returns the documents of another table. Documents of a group and version with
// the same rows in both are not rebuilt.
func (d *Documents) With(table *resources.Table) *Documents {
	other := New(table, d.source.version)
	for path := range other.source.general() {
		if known := d.v3[path]; known != nil {
			other.v3[path] = known
		}
	}
	for _, gv := range other.source.versions() {
		path := strings.TrimPrefix(basePath(gv), "/")
		if known := d.v3[path]; known != nil && slices.Equal(d.source.table.InVersion(gv), table.InVersion(gv)) {
			other.v3[path] = known
		}
	}
	return other
}

// WithIndex returns the same documents with a changed index of version 3.
func (d *Documents) WithIndex(change func(index []byte) ([]byte, error)) *Documents {
	other := *d
	other.index = func() ([]byte, error) {
		index, err := d.index()
		if err != nil {
			return nil, err
		}
		return change(index)
	}
	return &other
}

// ServeHTTP serves /openapi/v2, /openapi/v3 and the paths beneath the latter, by any method.
func (d *Documents) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	beneath, isBeneath := strings.CutPrefix(r.URL.Path, pathV3+"/")
	switch {
	case r.URL.Path == pathV2:
		d.v2.serve(w, r, formatsV2)
	case r.URL.Path == pathV3:
		d.serveIndex(w, r)
	case d.v3[beneath] != nil:
		d.serveVersion(w, r, beneath)
	case isBeneath:
		w.WriteHeader(http.StatusNotFound)
	default:
		http.Error(w, "404 page not found", http.StatusNotFound)
	}
}

// serveVersion serves one v3 document. The hash in its URL allows caching: the response
// for a URL with the right hash never changes.
func (d *Documents) serveVersion(w http.ResponseWriter, r *http.Request, path string) {
	document := d.v3[path]
	if asked := r.URL.Query().Get("hash"); asked != "" {
		hash, err := document.hash()
		switch {
		case err != nil:
			fail(w, err)
			return
		case hash != asked:
			w.Header().Set("Etag", strconv.Quote(hash))
			w.Header().Set("Content-Type", mediaJSON)
			w.Header().Add("Vary", "Accept")
			http.Redirect(w, r, hashedURL(path, hash), http.StatusMovedPermanently)
			return
		}
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	document.serve(w, r, formatsV3)
}

func (d *Documents) serveIndex(w http.ResponseWriter, r *http.Request) {
	data, err := d.index()
	if err != nil {
		fail(w, err)
		return
	}
	// As upstream, without a hash, and with the type that Go finds.
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

func (d *Documents) makeIndex() ([]byte, error) {
	index := handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
	for path, document := range d.v3 {
		hash, err := document.hash()
		if err != nil {
			return nil, err
		}
		index.Paths[path] = handler3.OpenAPIV3DiscoveryGroupVersion{ServerRelativeURL: hashedURL(path, hash)}
	}
	return json.Marshal(index)
}

func hashedURL(path, hash string) string {
	return pathV3 + "/" + path + "?" + url.Values{"hash": {hash}}.Encode()
}

func hashOf(data []byte) string { return fmt.Sprintf("%X", sha512.Sum512(data)) }

// document is one document in both encodings.
type document struct {
	json     func() ([]byte, error)
	protobuf func() ([]byte, error)
	hash     func() (string, error)
	// gzipped returns the document as compressed JSON, which only version 2 has.
	gzipped func() ([]byte, error)
}

func newDocument(build func() (any, error), toProtobuf func(json []byte) ([]byte, error)) *document {
	d := &document{}
	d.json = sync.OnceValues(func() ([]byte, error) {
		built, err := build()
		if err != nil {
			return nil, err
		}
		return json.Marshal(built)
	})
	d.protobuf = sync.OnceValues(func() ([]byte, error) {
		data, err := d.json()
		if err != nil {
			return nil, err
		}
		return toProtobuf(data)
	})
	d.hash = sync.OnceValues(func() (string, error) {
		data, err := d.json()
		return hashOf(data), err
	})
	return d
}

// compressed adds the compressed form, which is made when it is first requested.
func (d *document) compressed() *document {
	d.gzipped = sync.OnceValues(func() ([]byte, error) {
		data, err := d.json()
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
		if err := w.Close(); err != nil {
			return nil, err
		}
		return out.Bytes(), nil
	})
	return d
}

func protobufV2(data []byte) ([]byte, error) {
	parsed, err := openapi_v2.ParseDocument(data)
	if err != nil {
		return nil, fmt.Errorf("reading the OpenAPI v2 document back: %w", err)
	}
	return proto.Marshal(parsed)
}

func protobufV3(data []byte) ([]byte, error) {
	parsed, err := openapi_v3.ParseDocument(data)
	if err != nil {
		return nil, fmt.Errorf("reading an OpenAPI v3 document back: %w", err)
	}
	return proto.Marshal(parsed)
}
