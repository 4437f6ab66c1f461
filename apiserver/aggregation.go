package apiserver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/handler3"

	"minikcm.dev/minikcm/apiserver/internal/aggregator"
	"minikcm.dev/minikcm/apiserver/internal/discovery"
	"minikcm.dev/minikcm/apiserver/internal/openapi"
)

// newAggregator returns the Aggregator, which serves the versions of other servers.
func (s *Server) newAggregator() *aggregator.Aggregator {
	return aggregator.New(aggregator.Options{
		Objects: s.storedObjects, Services: s.resolver(), Inside: s.inside(false), Skips: s.skipper.Skips,
		IsLocal: func(gv schema.GroupVersion) bool { return len(s.current().Table.InVersion(gv)) > 0 },
		Update:  s.updateAPIService, Client: s.opts.ProxyClient, Done: s.done,
		Clock: s.opts.Clock, Ledger: s.opts.Ledger, Logger: s.opts.Logger,
	})
}

// serveOpenAPI serves the OpenAPI documents. The index of version 3 lists the documents of
// other servers too, and the document of version 2 has their paths.
func (s *Server) serveOpenAPI(w http.ResponseWriter, r *http.Request) {
	docs := s.current().Docs
	if remote := s.aggregator.Remote(); remote != nil {
		docs = s.mergedDocs(docs, remote).WithIndex(func(index []byte) ([]byte, error) { return indexWith(index, remote) })
	}
	docs.ServeHTTP(w, r)
}

// mergedDocuments caches this server's documents, merged with the documents of other servers.
type mergedDocuments struct {
	docs, merged *openapi.Documents
	remotes      []*openapi.Remote
}

// mergedDocs returns the documents of this server and others.
func (s *Server) mergedDocs(docs *openapi.Documents, remote *discovery.Remote) *openapi.Documents {
	var remotes []*openapi.Remote
	for i := range remote.Versions {
		v := &remote.Versions[i]
		if v.OpenAPIV2 != nil && len(s.current().Table.InVersion(v.GroupVersion)) == 0 {
			remotes = append(remotes, v.OpenAPIV2)
		}
	}
	if len(remotes) == 0 {
		return docs
	}
	if known := s.mergedOpenAPI.Load(); known != nil && known.docs == docs && slices.Equal(known.remotes, remotes) {
		return known.merged
	}
	made := &mergedDocuments{docs: docs, remotes: remotes, merged: docs.WithRemote(remotes)}
	s.mergedOpenAPI.Store(made)
	return made.merged
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
