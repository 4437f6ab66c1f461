package apiserver

import (
	"encoding/json"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler3"

	"minikcm.dev/minikcm/apiserver/aggregator"
	"minikcm.dev/minikcm/apiserver/discovery"
	"minikcm.dev/minikcm/apiserver/services"
)

// newAggregator returns what serves the versions of other servers.
func (s *Server) newAggregator() *aggregator.Aggregator {
	return aggregator.New(aggregator.Options{
		Objects: s.storedObjects, Services: services.Resolver{Objects: s.storedObjects},
		IsLocal: func(gv schema.GroupVersion) bool { return len(s.current().Table.InVersion(gv)) > 0 },
		Update:  s.updateAPIService, Client: s.opts.ProxyClient, Done: s.done,
		Clock: s.opts.Clock, Ledger: s.opts.Ledger, Logger: s.opts.Logger,
	})
}

// serveOpenAPI serves the OpenAPI documents. The index of version 3 includes those of other
// servers; the document of version 2 does not.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	docs := s.current().Docs
	if remote := s.aggregator.Remote(); remote != nil {
		docs = docs.WithIndex(func(index []byte) ([]byte, error) { return indexWith(index, remote) })
	}
	docs.ServeHTTP(w, r)
}

// indexWith adds the documents of other servers to the index.
func indexWith(index []byte, remote *discovery.Remote) ([]byte, error) {
	var all handler3.OpenAPIV3Discovery
	if err := json.Unmarshal(index, &all); err != nil {
		return nil, err
	}
	for i := range remote.Versions {
		v := &remote.Versions[i]
		path := "apis/" + v.Group + "/" + v.Version
		if _, local := all.Paths[path]; !local && strings.HasPrefix(v.OpenAPI, "/") {
			all.Paths[path] = handler3.OpenAPIV3DiscoveryGroupVersion{ServerRelativeURL: v.OpenAPI}
		}
	}
	return json.Marshal(all)
}
