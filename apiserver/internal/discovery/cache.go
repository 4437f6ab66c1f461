package discovery

import (
	"crypto/sha512"
	"fmt"
	"strconv"
	"sync"

	apidiscovery "k8s.io/api/apidiscovery/v2"

	"minikcm.dev/minikcm/apiserver/internal/codec"
	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// aggregates caches the documents of aggregated discovery as long as the served API is
// unchanged: controllers fetch them twice a minute.
type aggregates struct {
	mu     sync.Mutex
	table  *resources.Table
	remote *Remote
	known  map[aggregateKey]*aggregateDocument
}

type aggregateKey struct {
	core  bool
	media codec.Media
}

// aggregateDocument is one document in one format. Its ETag depends on the content only.
type aggregateDocument struct {
	data []byte
	etag string
}

// aggregated returns the document of the core group, or the document of all other groups.
func (d *Discovery) aggregated(core bool, media codec.Media) (*aggregateDocument, error) {
	a := &d.aggregates
	a.mu.Lock()
	defer a.mu.Unlock()
	table, remote := d.table(), d.remote()
	if a.table != table || a.remote != remote {
		a.table, a.remote, a.known = table, remote, map[aggregateKey]*aggregateDocument{}
	}
	key := aggregateKey{core, media}
	if known := a.known[key]; known != nil {
		return known, nil
	}
	list := &apidiscovery.APIGroupDiscoveryList{}
	for _, g := range d.groups(table, remote) {
		if (g.name == "") == core {
			list.Items = append(list.Items, aggregate(table, &g))
		}
	}
	data, err := codec.Encode(media, aggregatedKind, list)
	if err != nil {
		return nil, err
	}
	made := &aggregateDocument{data: data, etag: strconv.Quote(fmt.Sprintf("%X", sha512.Sum512(data)))}
	a.known[key] = made
	return made, nil
}
